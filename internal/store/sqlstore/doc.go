// Package sqlstore implements the contract of internal/store on a SQL
// database; SQLite today, with all query texts written once and everything
// engine-specific behind a small dialect.
//
// It decides nothing about turns, mentions or models: it makes each promise of
// the contract true in one transaction. It starts no goroutine of its own.
//
// Read first: [Open], [Store] and, unexported, tx (one write transaction).
//
// A Store owns one writing connection, a few reading ones, and a shared lock
// on "<db>.schema" for as long as it is open; Close gives all back. Writes of
// one process queue for the writing connection, writes of several processes
// for SQLite's lock, with a bounded wait: then store.Busy(err) is true and
// nothing was written. Every other trouble with the file is a Storage error
// that names the file and the way out.
package sqlstore
