// Package pgtest runs a real PostgreSQL server for tests: one server per test binary
// and one schema per test. Where PostgreSQL is not installed, the tests that need it
// are skipped and say so; with CI=true they fail instead. With TEST_POSTGRES=0 they are
// always skipped.
//
// The server listens on a socket in a folder of its own and ends with the test
// binary, even if that is killed. Started by root, it runs as the user postgres, as
// PostgreSQL demands.
//
// Read first: [Shared], [Server].
package pgtest
