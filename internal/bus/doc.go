// Package bus is the contract of the bus: it tells those who wait that there
// is something to look at, and carries what is live. Nothing on it is truth; a
// lost message costs two seconds.
//
// Read first: [Bus] and [Subjects]. internal/bus/nats implements it, embeds
// the server, and keeps what foreign publishers send until the hub has read it
// ([Inbound]). [Nobody] is the bus of a process that has none.
package bus
