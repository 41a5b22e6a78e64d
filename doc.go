// Package fika holds the nouns of the system: agents, conversations, entries,
// requests, steps, chains, their identifiers, and the one error type.
//
// It is what every other package talks in, and it knows none of them: no SQL,
// no bus, no model provider, no terminal. It imports the standard library only.
//
// Read first: [Entry] (one thing that happened), [Request] (one piece of work
// with exactly one outcome) and [Error] (what went wrong, and of which [Kind]).
//
// Values of this package are plain data: copying them is safe, sharing a
// mutable one between goroutines is the caller's affair.
package fika
