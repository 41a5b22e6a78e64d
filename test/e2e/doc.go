// Package e2e holds tests that run the real program: processes that are started,
// killed with real signals and started again, against model servers that speak the
// real protocols. It has no code of its own.
//
// Each test makes a home in a temporary folder and leaves no process behind, which is
// checked when it ends. Nothing sleeps: tests wait for an event by polling the store,
// with a deadline.
//
// Read first: home (in home_test.go), chain (chain_test.go), the soak (soak_test.go).
// FIKA_E2E_BINARY names a program to test instead of building one; FIKA_SOAK=5m sets
// the length of the soak.
package e2e
