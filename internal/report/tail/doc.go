// Package tail lets many watchers of one process follow what is committed, at the price
// of one reader.
//
// A [Tail] keeps the newest events in memory. Watchers that keep up are served from
// there; one that is slow, or that begins further back, reads rows from the store at its
// own place, so that no watcher holds up another and none misses an event. The package
// starts no goroutine: whichever watcher wakes first looks for all.
//
// What it does not do: it shows nothing that is not committed (live text is on the bus),
// and it decides nothing about who may see what: [Scope] takes a function for that.
//
// Read first: [Tail], [Tail.Watch], [Scope].
package tail
