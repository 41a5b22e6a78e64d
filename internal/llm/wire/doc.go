// Package wire holds what the protocols of both providers have in common: the HTTP call,
// server-sent events, JSON text that is cut in the middle of a character, and errors
// without secrets made from HTTP responses.
//
// An [Endpoint] sends prompts and key only to the address that a person wrote: it
// follows no redirect, and sends no key over plain http to another machine unless told
// to. Everything kept is bounded: by [MaxEvent] for one event, by [MaxAnswer] for one
// answer.
//
// Read first: [Endpoint], [ReadEvents], [Text], [Failure].
package wire
