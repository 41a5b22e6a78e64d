// Package pgtest runs a real PostgreSQL server for tests: one for a test
// binary, a schema for each test. Where there is no PostgreSQL the tests that
// need it are skipped and say so; with CI=true that is a failure.
//
// The server listens on a socket in a folder of its own and ends with the test
// binary, also when that is killed. Started by root it runs as the user
// postgres, as it must.
//
// Read first: [Shared], [Server].
package pgtest
