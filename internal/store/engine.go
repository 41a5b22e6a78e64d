package store

import (
	"context"
	"errors"
)

// ErrBusy is in the chain of a Storage error that means only "not now": other writers
// held the database, or its server was gone, for as long as the store was willing to
// wait. Nothing was written, and the same call may be repeated.
var ErrBusy = errors.New("database is busy")

// ErrDamaged is in the chain of a Storage error that waiting does not mend: the
// database is damaged, or the file is not a database.
var ErrDamaged = errors.New("database is damaged")

// ErrGone is in the chain of a Storage error that means that the database file is no
// longer where it was opened.
var ErrGone = errors.New("database is gone")

// IsLasting reports whether err persists however often the call is repeated, until a
// person repairs the store.
func IsLasting(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrGone) }

// IsBusy reports whether the same call is worth repeating after err.
func IsBusy(err error) bool { return errors.Is(err, ErrBusy) }

// engine is a kind of database with this process's connections to it. Reads outside a
// transaction run their statements on the engine itself.
type engine interface {
	querier
	// writer returns the writing connection, to one caller at a time; done gives it
	// back with the error of the try.
	writer(context.Context) (conn, error)
	done(conn, error)
	// snapshot lets fn read as of one moment.
	snapshot(ctx context.Context, fn func(querier) error) error
	close() error
}

// conn is one connection, used by one goroutine at a time.
type conn interface {
	querier
	// beginning returns the statements that begin a transaction.
	beginning(durability) []statement
	// distant reports whether each run is a round trip over a network, and whether
	// the database has a clock and rows that others lock.
	distant() bool
}

// dialect covers the differences between the engines' query texts and between the
// meanings of their errors. A query text common to both is written once, with ? for
// arguments.
type dialect interface {
	// rebind rewrites a query text for the engine: placeholders and locks.
	rebind(query string) string
	// fault returns what a driver's error means for the caller.
	fault(err error) fault
	// matching returns the query that finds entries by words (full text) and its
	// argument, made from what a person typed; "" if nothing can match.
	matching(words string) (query, arg string)
	// withText returns the query for events with the text of entries, and what makes of
	// the bytes found what was stored.
	withText() (query string, decode func(string) string)
}

// Appended to a SELECT, lockRow and its kin keep others from changing the selected
// rows until the transaction ends. SQLite needs no locks: a write transaction is
// alone.
const (
	lockRow          = ` FOR NO KEY UPDATE`
	lockConversation = ` FOR NO KEY UPDATE OF c`
	lockAgent        = ` FOR NO KEY UPDATE OF a`
	lockRequest      = ` FOR NO KEY UPDATE OF r`
)

// fault is the meaning of a driver's error.
type fault int

const (
	faultOther    fault = iota // a mistake of ours, or unknown
	faultBusy                  // others are writing
	faultClash                 // others were quicker: begin again and see their rows
	faultFull                  // no space left
	faultReadOnly              // must not be written
	faultCorrupt               // not a database, or a damaged one
	faultDisk                  // reading or writing failed
	faultOpen                  // cannot be opened
	faultConn                  // the connection is gone; a new one may work
	faultDenied                // the server does not let this user in
)
