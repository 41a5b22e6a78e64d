// Package outcome announces on the bus how requests ended: once the store has an
// outcome, it is published, and the store records that it was published. An agent does
// this for its own requests, the hub for requests whose agent is gone.
//
// It decides nothing about requests and never waits for an agent: an outcome that
// could not be published is found again at the next look at the store.
//
// Read first: [Announce], [ResponseBody], [Announcements]. It owns no goroutine.
package outcome
