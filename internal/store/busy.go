package store

import "errors"

// ErrBusy is in the chain of a Storage error that means only "not now": other
// writers held the database for as long as the store was willing to wait.
// Nothing was written; the same call may be made again.
var ErrBusy = errors.New("database is busy")

// Busy reports whether err is worth trying again unchanged.
func Busy(err error) bool { return errors.Is(err, ErrBusy) }
