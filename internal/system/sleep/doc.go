// Package sleep waits. It is the only place where a goroutine sleeps, so that no sleep
// outlives its context.
//
// Read first: [For]. It starts no goroutines, and it is not a clock: callers take the
// time from the clock that they were given.
package sleep
