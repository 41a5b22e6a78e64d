// Package store keeps the only truth and the only queue, in SQL.
//
// Every control request, message and outcome is a committed row before anybody is
// told about it; whoever starts next finds all open work by reading. The package
// decides nothing about turns, mentions or models: it makes each promise true in one
// transaction. There is one type per use, and consumers declare the few methods they
// need. The package starts no goroutine of its own.
//
// Read first: [Open], [Queue] (how work is accepted and claimed), [Turns] (the fenced
// writes of a running turn), [Lease] (who may write for an agent) and, unexported, tx
// (one write transaction). internal/store/storetest is the suite.
//
// The methods of a Store are safe for concurrent use by many goroutines and many
// processes. A write is durable when its method returns nil, except for what a power
// failure may undo without harm: renewed and released leases, renewed pauses, recorded processes,
// announcements and the word index. Errors are *fika.Error: Invalid, NotFound,
// Conflict, Locked, Limit, Lost (the fence or lease now belongs to another),
// Interrupted (the context ended), Storage (full, read-only, newer schema, corrupt),
// Failed. The present time comes from the store's clock, never from the caller's.
//
// A Store owns one writing connection, a few reading ones, and a shared lock on
// "<db>.schema" for as long as it is open; Close releases all of them. Writes of one
// process queue for the writing connection, writes of several processes for the
// database's lock, both with a bounded wait; when it runs out, IsBusy(err) is true
// and nothing was written. Any other trouble with the database is a Storage error
// that names it and the way out.
package store
