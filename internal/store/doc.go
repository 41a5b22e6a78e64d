// Package store keeps the only truth and the only queue, in SQL.
//
// Every control request, message and outcome is a committed row before anybody is told of
// it; whoever starts next finds all open work by reading. The package decides
// nothing about turns, mentions or models: it makes each promise true in one
// transaction. There is a type per use, and consumers declare the few methods
// they need. It starts no goroutine of its own.
//
// Read first: [Open], [Queue] (how work is accepted and claimed), [Turns] (the
// fenced writes of a running turn), [Lease] (who may write for an agent) and,
// unexported, tx (one write transaction). internal/store/storetest is the suite.
//
// Every method may be called from many goroutines and many processes at once.
// Every write is durable when the method returns nil. Errors are *fika.Error:
// NotFound, Conflict, Locked, Lost (the fence or lease is another's now),
// Storage (full, read-only, newer schema, corrupt), Failed. Times are taken
// from the store's clock, never from the caller's.
//
// A Store owns one writing connection, a few reading ones, and a shared lock
// on "<db>.schema" for as long as it is open; Close gives all back. Writes of
// one process queue for the writing connection, writes of several processes
// for the database's lock, with a bounded wait: then Busy(err) is true and
// nothing was written. Every other trouble with the database is a Storage error
// that names it and the way out.
package store
