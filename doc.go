// Package fika holds the nouns of the system: agents, conversations, entries, requests,
// steps, chains, their identifiers, and the one error type.
//
// Every other package uses these types, and this package knows none of the others: no
// SQL, no bus, no model provider, no terminal. It imports the standard library only.
//
// Read first: [Entry] (one thing that happened), [Request] (one piece of work with
// exactly one outcome) and [Error] (what went wrong, and of which [Kind]).
//
// Values of this package are plain data: copying them is safe, and callers that share a
// mutable one between goroutines must synchronise access themselves.
package fika
