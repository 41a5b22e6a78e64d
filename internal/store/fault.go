package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	driversqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"fika"
	"fika/internal/text/hint"
)

func (sqliteDialect) fault(err error) fault {
	var e *driversqlite.Error
	if !errors.As(err, &e) {
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, errLost) {
			return faultConn
		}
		return faultOther
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return faultBusy
	case sqlite3.SQLITE_FULL:
		return faultFull
	case sqlite3.SQLITE_READONLY:
		return faultReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return faultCorrupt
	case sqlite3.SQLITE_IOERR:
		return faultDisk
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return faultOpen
	}
	return faultOther
}

// explain turns a driver's error into a *fika.Error that names the database and the
// way out. It returns an error that already is a *fika.Error unchanged.
func (s *db) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *fika.Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fika.Wrap(fika.Interrupted, op, err)
	}
	say := func(msg string) error {
		return &fika.Error{Kind: fika.Storage, Op: op, Msg: s.name() + " " + msg, Err: err}
	}
	switch s.d.fault(err) {
	case faultBusy:
		return &fika.Error{Kind: fika.Storage, Op: op, Msg: s.name() + " is held by another program that does not let go: nothing was changed here; end that program, or try again when it is done", Err: ErrBusy}
	case faultFull:
		return say("cannot grow: free some space on its disk and try again, nothing was changed")
	case faultReadOnly:
		if s.opt.URL != "" {
			return say("takes no writes now, and nothing was changed: its server is a standby, or transactions are read-only there (" + hint.Doctor.With() + " says which)")
		}
		return say("is read-only: give this user the right to write it and its folder")
	case faultCorrupt:
		return &fika.Error{Kind: fika.Storage, Op: op, Err: fmt.Errorf("%w: %w", ErrDamaged, err),
			Msg: s.name() + " is not a sound database: keep a copy of it, run " + hint.Doctor.With() + ", restore a backup"}
	case faultDisk:
		return say("could not be read or written: look at its disk, nothing was changed")
	case faultOpen:
		return say("cannot be opened: does its folder exist, may this user write there?")
	case faultDenied:
		var said *pgconn.PgError
		if errors.As(err, &said) && said.Code == noPrivilege {
			return say("does not let this role do that")
		}
		return say("does not let this user in: look at user, password and rights in [store] url, and at what its server says")
	case faultConn:
		if s.opt.URL != "" {
			return &fika.Error{Kind: fika.Storage, Op: op, Msg: s.name() + " cannot be reached; what waits continues when its server is back", Err: unreachable{err}}
		}
		return say("was closed while in use")
	}
	return &fika.Error{Kind: fika.Failed, Op: op, Msg: s.name(), Err: err}
}

// unreachable is the error of a server that cannot be reached, cut down to one line.
// It is [ErrBusy]: the call is worth repeating.
type unreachable struct{ cause error }

func (u unreachable) Error() string {
	lines := strings.Split(strings.TrimSpace(u.cause.Error()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func (u unreachable) Is(target error) bool { return target == ErrBusy }

func (u unreachable) Unwrap() error { return u.cause }
