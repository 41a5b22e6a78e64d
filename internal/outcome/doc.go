// Package outcome announces on the bus how requests ended: once the store has
// an outcome, somebody publishes it, and the store is told that it is
// published. An agent does so for its own requests, the hub for those whose
// agent is gone.
//
// It decides nothing about requests and waits for nobody: an outcome that
// could not be published is found again by the next look at the store.
//
// Read first: [Announce], [ResponseBody], [Announcements]. It owns no goroutine.
package outcome
