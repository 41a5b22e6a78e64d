package store

import "errors"

// ErrBusy is in the chain of a Storage error that means only "not now": other
// writers held the database for as long as the store was willing to wait.
// Nothing was written; the same call may be made again.
var ErrBusy = errors.New("database is busy")

// ErrDamaged is in the chain of a Storage error that no waiting mends: the
// database is damaged, or is none.
var ErrDamaged = errors.New("database is damaged")

// Lasting reports whether err stays however often the call is made again, until
// a person does something about the store.
func Lasting(err error) bool { return errors.Is(err, ErrDamaged) }

// Busy reports whether err is worth trying again unchanged.
func Busy(err error) bool { return errors.Is(err, ErrBusy) }
