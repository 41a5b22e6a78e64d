// Package wire holds what both providers' protocols have in common: the HTTP
// call, reading server-sent events, JSON text that was cut in the middle of a
// character, and turning HTTP answers into errors without secrets.
//
// An [Endpoint] sends prompts and key to the address that a person wrote and to
// no other: it follows no redirect, and gives no key to plain http beyond this
// machine unless it was told to. Everything kept is bounded: [MaxEvent] for one
// event, [MaxAnswer] for one answer.
//
// Read first: [Endpoint], [ReadEvents], [Text], [Failure].
package wire
