package store

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"fika"
	"fika/internal/crash"
)

// querier runs a query: a transaction, or the reading connections.
type querier interface {
	query(ctx context.Context, text string, args ...any) (cursor, error)
}

// cursor is rows, and what closing them gives back.
type cursor struct {
	*sql.Rows
	release func() // may be nil
}

// Close ends the reading. It must be called once.
func (c cursor) Close() error {
	err := c.Rows.Close()
	if c.release != nil {
		c.release()
	}
	return err
}

// scanner is *sql.Rows as the scan functions see it.
type scanner interface{ Scan(dest ...any) error }

// one reads the first row; false when there is none.
func one[T any](ctx context.Context, q querier, scan func(scanner) (T, error), text string, args ...any) (T, bool, error) {
	var zero T
	rows, err := q.query(ctx, text, args...)
	if err != nil {
		return zero, false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return zero, false, rows.Err()
	}
	v, err := scan(rows)
	return v, err == nil, err
}

// many reads all rows.
func many[T any](ctx context.Context, q querier, scan func(scanner) (T, error), text string, args ...any) ([]T, error) {
	rows, err := q.query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// cachedTexts bounds the prepared statements a connection keeps. Texts with
// argument lists of varying length are few but not bounded.
const cachedTexts = 256

// writer is the one writing connection of a process. Whoever holds the token
// uses it.
type writer struct {
	d        dialect
	db       *sql.DB
	token    chan struct{}
	setup    string // run on a new connection
	conn     *sql.Conn
	stmts    map[string]*sql.Stmt
	closed   bool
	careless bool // the connection commits without waiting for the disk
}

func newWriter(d dialect, db *sql.DB) *writer {
	return &writer{d: d, db: db, token: make(chan struct{}, 1), stmts: make(map[string]*sql.Stmt)}
}

// open connects, again after a lost connection. The token is held, or nobody
// else knows the writer yet.
func (w *writer) open(ctx context.Context) error {
	if w.closed {
		return fika.Errorf(fika.Storage, "write", "the store is closed")
	}
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, w.setup)
	}
	if err != nil {
		if conn != nil {
			_ = conn.Close()
		}
		return err
	}
	w.conn = conn
	return nil
}

// take sets how carefully the next transaction is committed. A new connection
// is careful.
func (w *writer) take(ctx context.Context, c care) error {
	if crash.Without(crash.SyncStore) {
		c = passing
	}
	if w.careless == (c == passing) {
		return nil
	}
	text := `PRAGMA synchronous = FULL`
	if c == passing {
		text = `PRAGMA synchronous = NORMAL`
	}
	st, err := w.stmt(ctx, text)
	if err == nil {
		_, err = st.ExecContext(ctx)
	}
	if err == nil {
		w.careless = c == passing
	}
	return err
}

// reset drops a connection that is of no use any more.
func (w *writer) reset() error {
	w.careless = false
	var errs []error
	for text, st := range w.stmts {
		errs = append(errs, st.Close())
		delete(w.stmts, text)
	}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
		w.conn = nil
	}
	return errors.Join(errs...)
}

func (w *writer) close() error {
	w.token <- struct{}{}
	defer func() { <-w.token }()
	w.closed = true
	err := w.reset()
	return errors.Join(err, w.db.Close())
}

func (w *writer) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := w.stmts[text]; st != nil {
		return st, nil
	}
	st, err := w.conn.PrepareContext(ctx, w.d.rebind(text))
	if err != nil {
		return nil, err
	}
	if len(w.stmts) >= cachedTexts {
		for old, st := range w.stmts {
			_ = st.Close() // costs one preparation, nothing else
			delete(w.stmts, old)
			break
		}
	}
	w.stmts[text] = st
	return st, nil
}

// query reads on the writing connection. The token is held until the rows are
// closed.
func (w *writer) query(ctx context.Context, text string, args ...any) (cursor, error) {
	st, err := w.stmt(ctx, text)
	if err != nil {
		return cursor{}, err
	}
	rows, err := st.QueryContext(ctx, args...)
	return cursor{Rows: rows}, err
}

// tx is one write transaction: it holds the writer and the database's write
// lock, sees one moment, and is all or nothing.
type tx struct {
	db      *db
	now     int64 // Unix milliseconds, the same for all it writes
	discard bool  // roll back although all went well
}

func (t *tx) query(ctx context.Context, text string, args ...any) (cursor, error) {
	return t.db.w.query(ctx, text, args...)
}

// exec runs a statement and returns how many rows it touched.
func (t *tx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	st, err := t.db.w.stmt(ctx, text)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// A write that finds the database busy looks again after about as long as a
// commit takes, and less and less often. SQLite's own waiting begins at a
// millisecond and is soon at ten.
const (
	firstWait = 200 * time.Microsecond
	lastWait  = 5 * time.Millisecond
)

// write runs fn in a transaction that is durable when write returns nil. fn
// may run again when the database was busy, so it must only assign results.
// Once begun a transaction is not interrupted: it is short, and half of an
// answer that was paid for helps nobody.
func (s *db) write(ctx context.Context, op string, fn change) error {
	return s.writeWith(ctx, op, durable, fn)
}

// jot is write for what a power failure may take back: leases and processes,
// which it ends anyway, and marks that are made again. What any later write
// makes durable is durable up to there, so nothing is lost out of order. The
// end of a process takes nothing back.
func (s *db) jot(ctx context.Context, op string, fn change) error {
	return s.writeWith(ctx, op, passing, fn)
}

// lookFirst is write for what mostly finds nothing to do: it reads before it
// takes the write lock, so that looking holds up nobody. When it does write,
// and somebody else was quicker, it begins again with the lock.
func (s *db) lookFirst(ctx context.Context, op string, fn change) error {
	err := s.writeOnce(ctx, op, durable, beginReading, fn)
	if f := s.d.fault(err); err != nil && (f == faultBusy || f == faultConn) {
		return s.write(ctx, op, fn)
	}
	return s.explain(op, err)
}

// The ways to begin: with the write lock, or without it until the first write.
const (
	beginWriting = `BEGIN IMMEDIATE`
	beginReading = `BEGIN DEFERRED`
)

// change is what a transaction does.
type change = func(context.Context, *tx) error

// care is how a transaction is committed.
type care bool

const (
	durable care = true
	passing care = false
)

func (s *db) writeWith(ctx context.Context, op string, c care, fn change) error {
	deadline := time.Now().Add(s.opt.BusyWait)
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := s.writeOnce(ctx, op, c, beginWriting, fn)
		if err == nil {
			return nil
		}
		f := s.d.fault(err)
		if f != faultBusy && f != faultConn || time.Now().After(deadline) {
			return s.explain(op, err)
		}
		if err := pause(ctx, wait/2+rand.N(wait)); err != nil {
			return s.explain(op, err)
		}
	}
}

func (s *db) writeOnce(ctx context.Context, op string, c care, begin string, fn change) error {
	select {
	case s.w.token <- struct{}{}:
		defer func() { <-s.w.token }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.w.open(ctx); err != nil {
		return err
	}
	t := &tx{db: s}
	if err := s.w.take(ctx, c); err != nil {
		return s.abandon(err)
	}
	if _, err := t.exec(ctx, begin); err != nil {
		return s.abandon(err)
	}
	t.now = s.nowMS()
	err := fn(ctx, t)
	if err == nil && !t.discard {
		crash.Committing(op)
		if _, err = t.exec(ctx, `COMMIT`); err == nil {
			crash.Committed(op)
			return nil
		}
	}
	// After some errors SQLite has rolled back by itself; then this one fails
	// and there is nothing to undo.
	_, _ = t.exec(ctx, `ROLLBACK`)
	return s.abandon(err)
}

// abandon drops the connection when err says it is unusable.
func (s *db) abandon(err error) error {
	if err != nil && s.d.fault(err) == faultConn {
		_ = s.w.reset() // a new connection is made by the next write
	}
	return err
}

// reader is the reading connections of a process. While nobody writes it
// borrows the writing one, so that a process that does one thing at a time
// opens one connection, reads one schema and prepares each text once.
type reader struct {
	d     dialect
	w     *writer
	db    *sql.DB
	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

func newReader(d dialect, w *writer, db *sql.DB) *reader {
	return &reader{d: d, w: w, db: db, stmts: make(map[string]*sql.Stmt)}
}

func (r *reader) query(ctx context.Context, text string, args ...any) (cursor, error) {
	if c, ok := r.borrow(ctx, text, args...); ok {
		return c, nil
	}
	st, err := r.stmt(ctx, text)
	if err != nil {
		return cursor{}, err
	}
	if st == nil {
		rows, err := r.db.QueryContext(ctx, r.d.rebind(text), args...)
		return cursor{Rows: rows}, err
	}
	rows, err := st.QueryContext(ctx, args...)
	return cursor{Rows: rows}, err
}

// borrow reads on the writing connection if that is open and free. Whatever
// fails there is left to the reading connections.
func (r *reader) borrow(ctx context.Context, text string, args ...any) (cursor, bool) {
	select {
	case r.w.token <- struct{}{}:
	default:
		return cursor{}, false
	}
	if ctx.Err() == nil && r.w.conn != nil {
		// A cancelled read must not take the connection with it.
		c, err := r.w.query(context.WithoutCancel(ctx), text, args...)
		if err == nil {
			c.release = func() { <-r.w.token }
			return c, true
		}
	}
	<-r.w.token
	return cursor{}, false
}

// stmt prepares a text once; nil when enough are kept already.
func (r *reader) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if st := r.stmts[text]; st != nil {
		return st, nil
	}
	if len(r.stmts) >= cachedTexts {
		return nil, nil
	}
	st, err := r.db.PrepareContext(ctx, r.d.rebind(text))
	if err != nil {
		return nil, err
	}
	r.stmts[text] = st
	return st, nil
}

func (r *reader) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for text, st := range r.stmts {
		errs = append(errs, st.Close())
		delete(r.stmts, text)
	}
	return errors.Join(append(errs, r.db.Close())...)
}
