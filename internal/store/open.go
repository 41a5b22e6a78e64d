package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"fika"
)

// Options says where the database is. Only Path is needed.
type Options struct {
	Path  string           // of the SQLite file; made, with its folder, if missing
	Now   func() time.Time // the store's clock; nil: time.Now
	NewID func() string    // makes ids; nil: UUID version 7
	// BusyWait bounds how long a call waits for other processes' writes; 0: 10 s.
	BusyWait time.Duration
	// MaxPages bounds the file, in pages of 4 KiB; 0: no bound but the disk.
	MaxPages int
}

// db is one database, with the connections of this process to it.
type db struct {
	opt     Options
	d       dialect
	w       *writer
	r       *reader
	schema  *flock.Flock
	engine  string
	version int64
	close   sync.Once
	closed  error
}

const opOpen = "open store"

// Open opens, makes or migrates the database. Locked when a migration is
// needed and other processes have it open; Storage when the file cannot be
// used (newer schema, damaged, network file system, no rights).
func Open(ctx context.Context, opt Options) (*Store, error) {
	if opt.Path == "" {
		return nil, fika.Errorf(fika.Invalid, opOpen, "no path given")
	}
	abs, err := filepath.Abs(opt.Path)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, opOpen, err)
	}
	opt.Path = abs
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.NewID == nil {
		opt.NewID = newUUID
	}
	if opt.BusyWait <= 0 {
		opt.BusyWait = 10 * time.Second
	}
	if err := prepareFile(abs); err != nil {
		return nil, err
	}
	s := &db{opt: opt, d: sqliteDialect{}}
	if err := s.openSchema(ctx); err != nil {
		return nil, errors.Join(err, s.shut())
	}
	return newStore(s), nil
}

func newUUID() string { return uuid.Must(uuid.NewV7()).String() }

// prepareFile makes folder and file with rights for this user alone. The file
// is created, never opened, when it exists: closing a second descriptor would
// drop the locks that SQLite holds on it in this process.
func prepareFile(path string) error {
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return &fika.Error{Kind: fika.Storage, Op: opOpen, Msg: "make the folder " + dir, Err: err}
		}
	}
	if fs := networkFS(dir); fs != "" {
		return fika.Errorf(fika.Storage, opOpen, "%s is on %s: a SQLite database needs a local disk; set FIKA_HOME or [store] url to one", dir, fs)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, os.ErrExist) {
			return nil // another process was quicker
		}
		if err != nil {
			return &fika.Error{Kind: fika.Storage, Op: opOpen, Msg: "make " + path, Err: err}
		}
		return fika.Wrap(fika.Storage, opOpen, f.Close())
	case err != nil:
		return fika.Wrap(fika.Storage, opOpen, err)
	case info.IsDir():
		return fika.Errorf(fika.Storage, opOpen, "%s is a folder, not a database", path)
	case info.Mode().Perm()&0o077 != 0:
		// Best effort: a file of another owner stays as it is.
		_ = os.Chmod(path, info.Mode().Perm()&0o700)
	}
	return nil
}

// dsn names the file for the driver. Pragmas run on every new connection.
func dsn(path string, pragmas ...string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

// connect opens the writing connection and prepares the reading ones, which
// open when first used.
func (s *db) connect(ctx context.Context) error {
	// SQLite waits in short turns, so that a cancelled caller is heard.
	busy := fmt.Sprintf("busy_timeout(%d)", min(time.Second, s.opt.BusyWait).Milliseconds())
	pragmas := []string{busy, "synchronous(2)", "foreign_keys(1)"}
	if s.opt.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", s.opt.MaxPages))
	}
	db, err := sql.Open("sqlite", dsn(s.opt.Path, pragmas...))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	s.w = newWriter(s.d, db)
	s.w.setup = "PRAGMA busy_timeout = 0" // from here on [Store.write] waits
	rdb, err := sql.Open("sqlite", dsn(s.opt.Path, busy, "query_only(1)"))
	if err != nil {
		return err
	}
	rdb.SetMaxOpenConns(4)
	rdb.SetMaxIdleConns(2)
	s.r = newReader(s.d, s.w, rdb)
	return s.w.open(ctx)
}

// shut closes once.
func (s *db) shut() error {
	s.close.Do(func() {
		var errs []error
		if s.r != nil {
			errs = append(errs, s.r.close())
		}
		if s.w != nil {
			errs = append(errs, s.w.close())
		}
		if s.schema != nil {
			errs = append(errs, s.schema.Close())
		}
		s.closed = explain(s.d, s.opt.Path, "close store", errors.Join(errs...))
	})
	return s.closed
}

func (s *db) explain(op string, err error) error { return explain(s.d, s.opt.Path, op, err) }
func (s *db) nowMS() int64                       { return s.opt.Now().UnixMilli() }
