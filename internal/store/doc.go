// Package store is the contract of the only truth and the only queue.
//
// Every wish, message and outcome is a committed row before anybody is told of
// it; whoever starts next finds all open work by reading. The package holds
// interfaces and values only; internal/store/sqlstore implements them and
// internal/store/storetest is the suite every implementation must pass.
//
// Read first: [Queue] (how work is accepted and claimed), [Turns] (the fenced
// writes of a running turn) and [Lease] (who may write for an agent).
//
// Every method may be called from many goroutines and many processes at once.
// Every write is durable when the method returns nil. Errors are *fika.Error:
// NotFound, Conflict, Locked, Lost (the fence or lease is another's now),
// Storage (full, read-only, newer schema, corrupt), Failed. Times are taken
// from the store's clock, never from the caller's.
package store
