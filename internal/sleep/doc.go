// Package sleep waits. It is the one place where a goroutine sleeps, so that
// no sleep outlives the context it belongs to.
//
// Read first: [For]. It starts no goroutines, and it is no clock: what time it
// is, is for the one to say who was given one.
package sleep
