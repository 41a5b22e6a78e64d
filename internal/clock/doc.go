// Package clock waits. It is the one place where a goroutine sleeps, so that
// no sleep outlives the context it belongs to.
//
// Read first: [Sleep]. It starts no goroutines.
package clock
