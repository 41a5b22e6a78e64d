package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"fika"
	"fika/internal/system/crash"
	"fika/internal/text/hint"
)

// sqlite is the engine of one file, with one connection that writes and a few that
// read.
type sqlite struct {
	d      dialect
	wdb    *sql.DB
	rdb    *sql.DB
	token  chan struct{} // held by the user of the writing connection
	conn   *sqliteConn   // nil before opening, and after it was lost
	closed bool
	path   string
	file   os.FileInfo // what path named when it was opened
	mu     sync.Mutex
	stmts  map[string]*sql.Stmt // prepared for the reading connections
}

// dsn returns the name of the file for the driver. The pragmas run on every new
// connection.
func dsn(path string, pragmas ...string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

// openSQLite opens the writing connection and prepares the reading ones, which open
// when first used.
func openSQLite(ctx context.Context, d dialect, opt Options) (*sqlite, error) {
	// SQLite waits in short turns, so that a cancelled caller is noticed.
	busy := fmt.Sprintf("busy_timeout(%d)", min(time.Second, opt.BusyWait).Milliseconds())
	pragmas := []string{busy, "synchronous(2)", "foreign_keys(1)"}
	if opt.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", opt.MaxPages))
	}
	wdb, err := sql.Open("sqlite", dsn(opt.Path, pragmas...))
	if err != nil {
		return nil, err
	}
	wdb.SetMaxOpenConns(1)
	rdb, err := sql.Open("sqlite", dsn(opt.Path, busy, "query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, wdb.Close())
	}
	rdb.SetMaxOpenConns(4)
	rdb.SetMaxIdleConns(2)
	e := &sqlite{d: d, path: opt.Path, wdb: wdb, rdb: rdb, token: make(chan struct{}, 1), stmts: make(map[string]*sql.Stmt)}
	_, err = e.writer(ctx)
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	<-e.token
	return e, nil
}

// writer returns the writing connection, and opens it again after it was lost. It
// refuses to write to a file that was moved, deleted or replaced, because nobody else
// would find what was accepted.
func (e *sqlite) writer(ctx context.Context) (conn, error) {
	e.token <- struct{}{}
	err := e.connect(ctx)
	if err == nil {
		err = e.stillThere()
	}
	if err != nil {
		<-e.token
		return nil, err
	}
	return e.conn, nil
}

// stillThere checks that path still names the file that was opened.
func (e *sqlite) stillThere() error {
	now, err := os.Stat(e.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil // the write itself reports what is wrong
	case e.file == nil:
		e.file = now
		return nil
	case err == nil && os.SameFile(e.file, now):
		return nil
	}
	return &fika.Error{Kind: fika.Storage, Op: "write", Err: ErrGone,
		Msg: e.path + " was moved, deleted or replaced while it was in use: nothing more is accepted; run " + hint.Down.With() + ", then put it back, or " + hint.Restore.With()}
}

// connect opens the writing connection if there is none. The caller holds the token.
func (e *sqlite) connect(ctx context.Context) error {
	if e.closed {
		return fika.Errorf(fika.Storage, "write", "the store is closed")
	}
	if e.conn != nil {
		return nil
	}
	c, err := e.wdb.Conn(ctx)
	if err == nil {
		_, err = c.ExecContext(ctx, `PRAGMA busy_timeout = 0`) // from here on, [db.writeWith] does the waiting
	}
	if err != nil {
		if c != nil {
			_ = c.Close()
		}
		return err
	}
	e.conn = &sqliteConn{d: e.d, c: c, stmts: make(map[string]*sql.Stmt)}
	return nil
}

func (e *sqlite) done(_ conn, err error) {
	if err != nil && e.d.fault(err) == faultConn {
		_ = e.reset() // the next write opens a new connection
	}
	<-e.token
}

// reset drops a connection that is no longer of use.
func (e *sqlite) reset() error {
	if e.conn == nil {
		return nil
	}
	var errs []error
	for _, st := range e.conn.stmts {
		errs = append(errs, st.Close())
	}
	errs = append(errs, e.conn.c.Close())
	e.conn = nil
	return errors.Join(errs...)
}

// run reads. While nobody writes, it borrows the writing connection, so that a
// process that does one thing at a time opens one connection, reads one schema and
// prepares each text once.
func (e *sqlite) run(ctx context.Context, list ...statement) error {
	for _, st := range list {
		done, err := e.borrow(ctx, st)
		if !done {
			err = e.read(ctx, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// borrow reads on the writing connection if that is open and free. It reports whether
// it did; what fails there is left to the reading connections.
func (e *sqlite) borrow(ctx context.Context, st statement) (done bool, err error) {
	select {
	case e.token <- struct{}{}:
		defer func() { <-e.token }()
	default:
		return false, nil
	}
	if ctx.Err() != nil || e.conn == nil {
		return false, nil
	}
	// A cancelled read must not take the connection down with it.
	found, err := e.conn.query(context.WithoutCancel(ctx), st)
	if err != nil {
		return false, nil
	}
	return true, errors.Join(st.read(found), found.Close())
}

func (e *sqlite) read(ctx context.Context, st statement) error {
	prepared, err := e.stmt(ctx, st.text)
	if err != nil {
		return err
	}
	var found *sql.Rows
	if prepared == nil {
		found, err = e.rdb.QueryContext(ctx, e.d.rebind(st.text), st.args...)
	} else {
		found, err = prepared.QueryContext(ctx, st.args...)
	}
	if err != nil {
		return err
	}
	return errors.Join(st.read(found), found.Close())
}

// slowReads runs slow reads, and never on the writing connection, for which others
// wait.
type slowReads struct{ *sqlite }

func (e slowReads) run(ctx context.Context, list ...statement) error {
	for _, st := range list {
		if err := e.read(ctx, st); err != nil {
			return err
		}
	}
	return nil
}

// stmt returns a prepared statement, prepared once per text; nil if enough are kept
// already.
func (e *sqlite) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if st := e.stmts[text]; st != nil {
		return st, nil
	}
	if len(e.stmts) >= cachedTexts {
		return nil, nil
	}
	st, err := e.rdb.PrepareContext(ctx, e.d.rebind(text))
	if err != nil {
		return nil, err
	}
	e.stmts[text] = st
	return st, nil
}

// snapshot lets fn read in a transaction of its own.
func (e *sqlite) snapshot(ctx context.Context, fn func(querier) error) error {
	c, err := e.rdb.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	// Even if BEGIN fails, the connection goes back without a transaction.
	defer func() { _, _ = c.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`) }()
	if _, err := c.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	return fn(&frozen{e.d, c})
}

// frozen reads on one connection, as of one moment.
type frozen struct {
	d dialect
	c *sql.Conn
}

func (f *frozen) run(ctx context.Context, list ...statement) error {
	for _, st := range list {
		found, err := f.c.QueryContext(ctx, f.d.rebind(st.text), st.args...)
		if err == nil {
			err = errors.Join(st.read(found), found.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *sqlite) close() error {
	e.token <- struct{}{}
	defer func() { <-e.token }()
	e.closed = true
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, st := range e.stmts {
		errs = append(errs, st.Close())
	}
	e.stmts = nil
	return errors.Join(append(errs, e.rdb.Close(), e.reset(), e.wdb.Close())...)
}

// cachedTexts bounds the number of prepared statements that a connection keeps. Texts
// with argument lists of varying length are few, but their number has no bound.
const cachedTexts = 256

// sqliteConn is the writing connection.
type sqliteConn struct {
	d       dialect
	c       *sql.Conn
	stmts   map[string]*sql.Stmt
	relaxed bool // commits do not wait for the disk
}

func (c *sqliteConn) distant() bool { return false }

// beginning takes the database's write lock. A new connection is durable.
func (c *sqliteConn) beginning(d durability) []statement {
	if crash.Without(crash.SyncStore) {
		d = relaxed
	}
	begin := statement{text: `BEGIN IMMEDIATE`}
	if c.relaxed == (d == relaxed) {
		return []statement{begin}
	}
	c.relaxed = d == relaxed
	text := `PRAGMA synchronous = FULL`
	if c.relaxed {
		text = `PRAGMA synchronous = NORMAL`
	}
	return []statement{{text: text}, begin}
}

func (c *sqliteConn) run(ctx context.Context, list ...statement) error {
	for _, st := range list {
		if err := c.one(ctx, st); err != nil {
			return err
		}
	}
	return nil
}

func (c *sqliteConn) one(ctx context.Context, st statement) error {
	if st.read != nil {
		found, err := c.query(ctx, st)
		if err != nil {
			return err
		}
		return errors.Join(st.read(found), found.Close())
	}
	prepared, err := c.stmt(ctx, st.text)
	if err != nil {
		return err
	}
	res, err := prepared.ExecContext(ctx, st.args...)
	if err == nil && st.hit != nil {
		*st.hit, err = res.RowsAffected()
	}
	return err
}

func (c *sqliteConn) query(ctx context.Context, st statement) (*sql.Rows, error) {
	prepared, err := c.stmt(ctx, st.text)
	if err != nil {
		return nil, err
	}
	return prepared.QueryContext(ctx, st.args...)
}

func (c *sqliteConn) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := c.stmts[text]; st != nil {
		return st, nil
	}
	st, err := c.c.PrepareContext(ctx, c.d.rebind(text))
	if err != nil {
		return nil, err
	}
	if len(c.stmts) >= cachedTexts {
		for old, st := range c.stmts {
			_ = st.Close() // costs one more preparation, nothing else
			delete(c.stmts, old)
			break
		}
	}
	c.stmts[text] = st
	return st, nil
}

// sqliteDialect speaks SQLite.
type sqliteDialect struct{}

// rebind removes the locks, because a write transaction is alone.
func (sqliteDialect) rebind(query string) string {
	if i := strings.LastIndex(query, lockRow); i >= 0 {
		return query[:i]
	}
	return query
}

// matching quotes every word, so that nothing typed is taken for an FTS5 operator; a
// trailing * asks for words with that prefix.
func (sqliteDialect) matching(words string) (query, arg string) {
	var terms []string
	for _, w := range strings.FieldsFunc(words, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		prefix := strings.HasSuffix(w, "*")
		w = strings.TrimRight(w, "*")
		if w == "" {
			continue
		}
		term := `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
		if prefix {
			term += "*"
		}
		terms = append(terms, term)
	}
	if len(terms) == 0 {
		return "", ""
	}
	return searchSQLite, strings.Join(terms, " ")
}

// searchSQLite follows the index of words backwards, which is the order of the answer,
// so that nothing is sorted.
const searchSQLite = `SELECT ` + entryColumns + `, e.n, c.name
FROM entries_words
CROSS JOIN entries e ON e.n = entries_words.rowid
CROSS JOIN conversations c ON c.id = e.conversation
WHERE entries_words MATCH ? AND entries_words.rowid < ?
  AND (e.expires_at = 0 OR e.expires_at > ? OR e.pinned = 1)
  AND (? = '' OR c.kind = ?)
  AND (? = '' OR c.agent = ? OR EXISTS (SELECT 1 FROM participants p WHERE p.conversation = c.id AND p.agent = ?))
ORDER BY entries_words.rowid DESC LIMIT ?`
