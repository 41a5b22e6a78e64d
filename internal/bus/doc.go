// Package bus defines the contract of the bus, which tells waiting processes that there
// is something to look at, and carries live events. Nothing on the bus is truth; a lost
// message costs two seconds.
//
// Read first: [Bus] and [Subjects]. internal/bus/nats implements the contract, embeds the
// server, and keeps what foreign publishers send until the hub has read it ([Inbound]).
// [Nobody] is the bus of a process that has none.
package bus
