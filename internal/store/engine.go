package store

import (
	"context"
	"errors"
)

// ErrBusy is in the chain of a Storage error that means only "not now": other
// writers held the database, or its server was gone, for as long as the store
// was willing to wait. Nothing was written; the same call may be made again.
var ErrBusy = errors.New("database is busy")

// ErrDamaged is in the chain of a Storage error that no waiting mends: the
// database is damaged, or is none.
var ErrDamaged = errors.New("database is damaged")

// ErrGone is in the chain of a Storage error that says that the file of the
// database is no longer where it was opened.
var ErrGone = errors.New("database is gone")

// IsLasting reports whether err stays however often the call is made again, until
// a person does something about the store.
func IsLasting(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrGone) }

// IsBusy reports whether err is worth trying again unchanged.
func IsBusy(err error) bool { return errors.Is(err, ErrBusy) }

// engine is a kind of database with this process's connections to it. Reading
// outside of a transaction is running statements on it.
type engine interface {
	querier
	// writer gives the connection that writes, one at a time; done gives it
	// back with what became of the try.
	writer(context.Context) (conn, error)
	done(conn, error)
	// snapshot lets fn read as of one moment.
	snapshot(ctx context.Context, fn func(querier) error) error
	close() error
}

// conn is one connection, used by one goroutine at a time.
type conn interface {
	querier
	// beginning gives the statements that begin a transaction.
	beginning(durability) []statement
	// distant says that each run is a trip over a network, and that the
	// database has a clock and rows that others lock.
	distant() bool
}

// dialect is what differs between the texts of the engines, and between the
// meanings of their errors. All query texts that both know are written once,
// with ? for arguments.
type dialect interface {
	// rebind turns a query text into the engine's own: placeholders and locks.
	rebind(query string) string
	// fault says what an error of the driver means for the caller.
	fault(err error) fault
	// matching gives the query that finds entries by words (full text) and the
	// argument made of what a person typed; "" when nothing can match.
	matching(words string) (query, arg string)
}

// lockRow, after a SELECT, keeps others from changing what it found until the
// transaction ends. A write transaction of SQLite is alone anyway.
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
	faultClash                 // others were quicker: begin again and see what they wrote
	faultFull                  // no space left
	faultReadOnly              // may not be written
	faultCorrupt               // not a database, or a damaged one
	faultDisk                  // reading or writing failed
	faultOpen                  // cannot be opened
	faultConn                  // the connection is gone; a new one may work
	faultDenied                // who may connect is not us
)
