package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"fika"
	"fika/internal/text/hint"
)

// Options says where the database is and how to open it. Path or URL is required.
type Options struct {
	Path string // of the SQLite file; made, with its folder, if missing
	URL  string // of a PostgreSQL database: postgres://user@host/name?search_path=schema
	// Existing refuses to create a new database: the caller expects one that is
	// there.
	Existing bool
	// Unfinished also opens a database that is only the beginning of a copy, so that
	// copying can go on.
	Unfinished bool
	// Moved also opens a database that was moved elsewhere.
	Moved bool
	// Looks refuses to create or migrate: the caller only reads. See [ErrNone].
	Looks bool
	// Stays keeps a connection to a crowded server, so that others can see that the
	// schema is in use.
	Stays bool
	// Patient makes a migration wait until nobody else has the schema open, however long
	// that takes; it is told for whom, again whenever that changes. nil: Open fails soon.
	Patient func(why string)
	// Site is where the process is that opens it; its leases say so. The zero site is that
	// of tests and of programs that take no lease.
	Site Site
	As   string           // name of a file in messages; empty: its path
	Now  func() time.Time // the clock; nil: the system's or the server's
	// Offset is added to the server's clock; nil: nothing is.
	Offset func() time.Duration
	NewID  func() string // makes ids; nil: UUID version 7
	// BusyWait bounds how long a call waits for other processes' writes, and
	// for a server that is gone; 0: 10 s.
	BusyWait time.Duration
	// MaxPages bounds the file, in pages of 4 KiB; 0: no bound but the disk.
	MaxPages int

	schemaName string           // instead of the URL's
	wall       func() time.Time // of this process, for tests; nil: the system's
	tryFor     time.Duration    // bounds one try
	lose       func() bool      // whether the answer to a commit is lost, for tests
	passGaps   bool             // whether readers of events pass numbers that they do not see
}

// db is how one type per use reaches the database.
type db struct {
	*database
	key  *Key           // see [Store.Once]; nil: none
	runs fika.RequestID // see [Store.While]; empty: none
}

// database is one database with this process's connections to it.
type database struct {
	opt        Options
	d          dialect
	e          engine
	r          querier       // reads outside transactions: the engine
	file       *sqlite       // the engine, if it is SQLite; else nil
	id         string        // of this store, in the table writers
	operations atomic.Int64  // number of operations so far
	writing    chan struct{} // held by the goroutine that writes
	ahead      atomic.Int64  // milliseconds by which the server's clock is ahead of ours
	schema     *flock.Flock  // the lock on a file's schema
	engine     string
	server     acquaintance
	version    int64
	opened     atomic.Pointer[string] // the id of the store that was opened on a server; nil: not yet
	marked     atomic.Int64           // the last operation that a server has acknowledged
	bell       atomic.Pointer[func()] // see [Store.OnEvents]
	close      sync.Once
	closed     error
}

const opOpen = "open store"

// Open opens, creates or migrates the database. It fails with Locked if a migration
// is needed while other processes have the database open, with Storage if the
// database cannot be used (newer schema, damaged, network file system, no rights, no
// server), and with Invalid if opt names none. With opt.Looks, a migration that is
// needed is Locked, and a database that is not there is [ErrNone]. The caller must
// close the Store.
func Open(ctx context.Context, opt Options) (*Store, error) {
	if opt.Path == "" && opt.URL == "" {
		return nil, fika.Errorf(fika.Invalid, opOpen, "neither a path nor a URL given")
	}
	if opt.NewID == nil {
		opt.NewID = newUUID
	}
	if opt.BusyWait <= 0 {
		opt.BusyWait = 10 * time.Second
	}
	if opt.tryFor == 0 {
		opt.tryFor = max(30*time.Second, 3*opt.BusyWait)
	}
	s := &db{database: &database{opt: opt, id: newUUID(), writing: make(chan struct{}, 1)}}
	open := s.openFile
	if opt.URL != "" {
		open = s.openServer
	}
	if err := open(ctx); err != nil {
		return nil, errors.Join(err, s.shut())
	}
	return newStore(s), nil
}

func newUUID() string { return uuid.Must(uuid.NewV7()).String() }

// openFile opens a SQLite database.
func (s *db) openFile(ctx context.Context) error {
	abs, err := filepath.Abs(s.opt.Path)
	if err != nil {
		return fika.Wrap(fika.Storage, opOpen, err)
	}
	s.opt.Path = abs
	s.d = sqliteDialect{}
	if s.opt.Now == nil {
		s.opt.Now = time.Now
	}
	if s.opt.Looks && !s.opt.Existing {
		if _, err := os.Stat(abs); errors.Is(err, os.ErrNotExist) {
			return s.none()
		}
	}
	if err := prepareFile(abs, s.opt.Existing); err != nil {
		return err
	}
	if err := s.openSchema(ctx); err != nil {
		return err
	}
	m, _, err := one(ctx, s.file.conn, scanMarks, readMarks)
	if err != nil {
		return s.explain(opOpen, err)
	}
	return s.usable(m)
}

// ErrNone is in the chain of the NotFound error of an opener that only looks, if there
// is no database yet.
var ErrNone = errors.New("there is no database yet")

func (s *db) none() error {
	return &fika.Error{Kind: fika.NotFound, Op: opOpen, Msg: s.name(), Err: ErrNone}
}

// behind refuses to migrate for a caller that only looks.
func (s *db) behind(version int64) error {
	return fika.Errorf(fika.Locked, opOpen, "%s has schema %d, and this fika needs %d: run %s with the older fika if that still runs, then %s, "+
		"which keeps a copy and migrates; commands that only look change nothing", s.name(), version, schemaVersion, hint.Down, hint.Up)
}

// behindServer is behind for a schema on a server, and names the hosts that use it.
func (s *db) behindServer(ctx context.Context, e *postgres, version int64) error {
	err := s.behind(version)
	hosts, asked := hostsUp(ctx, e.pool, s.opt.Site.Home)
	if asked != nil || hosts == "" {
		return err
	}
	return fika.Errorf(fika.Locked, opOpen, "%s has schema %d, and this fika needs %d; it is used by %s: upgrade them, too (%s with the older fika there, then %s with this version). "+
		"A hub of this version waits until they have left, and migrates then", s.name(), version, schemaVersion, hosts, hint.Down, hint.Up)
}

// marks are rows of meta that say that a database is not to be used.
type marks struct {
	begun bool   // it is the beginning of a copy
	moved string // where it was copied to, to be used there; empty: it was not
}

const readMarks = `SELECT (SELECT count(*) FROM meta WHERE key = 'copy_of'), COALESCE((SELECT value FROM meta WHERE key = 'moved_to'), '')`

func scanMarks(s scanner) (m marks, err error) {
	var begun int64
	err = s.Scan(&begun, &m.moved)
	m.begun = begun > 0
	return m, err
}

// usable refuses a database that is only the beginning of a copy, unless the caller
// wants to go on with it, and one that is used elsewhere by now.
func (s *db) usable(m marks) error {
	switch {
	case m.begun && !s.opt.Unfinished:
		return fika.Errorf(fika.Storage, opOpen, "%s is the beginning of a copy: give %s again, which continues with it, or name another database", s.name(), hint.StoreMove.With())
	case m.moved != "" && !s.opt.Moved:
		return fika.Errorf(fika.Storage, opOpen, "%s was moved: what came later is in %s. Name that as [store] url in config.toml (a file needs no url, if it is fika.db in the home); "+
			"then %s brings it back here", s.name(), m.moved, hint.StoreMove)
	}
	return nil
}

// prepareFile creates the folder and the file with rights for this user alone. It
// never opens an existing file: closing a second descriptor would drop the locks that
// SQLite holds on it in this process.
func prepareFile(path string, existing bool) error {
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
	case existing && (errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0):
		return lostDatabase(path, err != nil)
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
		// This is best effort: a file owned by another user stays as it is.
		_ = os.Chmod(path, info.Mode().Perm()&0o700)
	}
	return nil
}

// lostDatabase returns the error that refuses to begin anew where there was a
// database.
func lostDatabase(name string, missing bool) error {
	what := "is empty"
	if missing {
		what = "is missing"
	}
	return fika.Errorf(fika.Storage, opOpen, "%s %s, and this home had a database: put it back, or run %s with one of its backups; %s begins a new one",
		name, what, hint.Restore, hint.RestoreEmpty)
}

// shut closes the database once; later calls return the first result.
func (s *db) shut() error {
	s.close.Do(func() {
		var errs []error
		if s.e != nil {
			errs = append(errs, s.e.close())
		}
		if s.schema != nil {
			errs = append(errs, s.schema.Close())
		}
		s.closed = s.explain("close store", errors.Join(errs...))
	})
	return s.closed
}

// name returns the name of the database for errors.
func (s *db) name() string {
	if s.opt.URL != "" {
		return withoutPassword(s.opt.URL)
	}
	if s.opt.As != "" {
		return s.opt.As
	}
	return s.opt.Path
}

// nowMS returns the present time of the database in Unix milliseconds, as closely as
// it is known without asking.
func (s *db) nowMS() int64 {
	if s.opt.Now != nil {
		return s.opt.Now().UnixMilli()
	}
	return s.wall() + s.ahead.Load() + s.offset()
}

// heard records the server's time and returns the time of the transaction.
func (s *db) heard(ms int64) int64 {
	if s.opt.Now != nil {
		return s.opt.Now().UnixMilli()
	}
	s.ahead.Store(ms - s.wall())
	return ms + s.offset()
}

// wall returns the time of this process's clock.
func (s *db) wall() int64 {
	if s.opt.wall != nil {
		return s.opt.wall().UnixMilli()
	}
	return time.Now().UnixMilli()
}

func (s *db) offset() int64 {
	if s.opt.Offset == nil {
		return 0
	}
	return s.opt.Offset().Milliseconds()
}
