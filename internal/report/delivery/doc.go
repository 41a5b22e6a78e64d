// Package delivery is what senders to receivers outside share: how far a receiver is, when
// it is tried again, and the client that posts.
//
// Read first: [Place], whose Run calls a sender, [Client].
package delivery
