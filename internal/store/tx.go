package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"fika"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
)

// querier runs statements: a transaction or the reading connections.
type querier interface {
	run(ctx context.Context, list ...statement) error
}

// statement is a query text with its arguments and the destination of its answer.
type statement struct {
	text string
	args []any
	read func(rows) error // reads the rows found; nil: there are none to read
	hit  *int64           // receives the number of rows changed; may be nil
}

// rows are the rows that a statement finds, read once, forwards.
type rows interface {
	scanner
	Next() bool
	Err() error
}

// scanner is one row as the scan functions see it.
type scanner interface{ Scan(dest ...any) error }

// first returns a statement that reads the first row that text finds. found may be
// nil.
func first[T any](dest *T, found *bool, scan func(scanner) (T, error), text string, args ...any) statement {
	return statement{text: text, args: args, read: func(r rows) error {
		if !r.Next() {
			return r.Err()
		}
		v, err := scan(r)
		if err != nil {
			return err
		}
		*dest = v
		if found != nil {
			*found = true
		}
		return nil
	}}
}

// all returns a statement that reads all rows that text finds.
func all[T any](dest *[]T, scan func(scanner) (T, error), text string, args ...any) statement {
	return statement{text: text, args: args, read: func(r rows) error {
		var list []T
		for r.Next() {
			v, err := scan(r)
			if err != nil {
				return err
			}
			list = append(list, v)
		}
		*dest = list
		return r.Err()
	}}
}

// one reads the first row; found is false if there is none.
func one[T any](ctx context.Context, q querier, scan func(scanner) (T, error), text string, args ...any) (v T, found bool, err error) {
	err = q.run(ctx, first(&v, &found, scan, text, args...))
	return v, found && err == nil, err
}

// many reads all rows.
func many[T any](ctx context.Context, q querier, scan func(scanner) (T, error), text string, args ...any) (list []T, err error) {
	err = q.run(ctx, all(&list, scan, text, args...))
	if err != nil {
		return nil, err
	}
	return list, nil
}

// operation is one call that writes, over all its tries. The ids that it makes are
// the same in each try, so that repeating a try that was committed after all finds
// its rows.
type operation struct {
	name       string
	durability durability
	key        *Key   // what it is kept under; nil: nothing
	found      string // kept in place of its results; see [Store.Intend]
	n          int64  // its number among the operations of this store
	ids        []string
	writing    bool // it holds the right to write
	inDoubt    bool // a commit was sent and not answered
	kept       bool // it is committed under its key
}

// durability is how a transaction is committed.
type durability bool

const (
	durable durability = true
	// relaxed is for what a power failure may undo: renewed leases and processes,
	// which a power failure ends anyway, and marks that are made again. Any later
	// durable write makes the earlier ones durable as well, so nothing is lost out of
	// order. The end of a process undoes nothing.
	relaxed durability = false
)

// change is the work of a transaction.
type change = func(context.Context, *tx) error

// tx is one write transaction. It sees what was committed before it took its locks,
// and is all or nothing.
//
// Locks are taken in one order: agent, request (parent before child), conversations
// by id, chain, budgets by their owners, tasks of the board by number. A claim locks an
// open task ahead of the request that it makes for it: nobody waits for that. A row that is checked before something is
// written because of it is locked first.
type tx struct {
	db      *db
	c       conn
	op      *operation
	made    int   // number of ids used in this try
	now     int64 // Unix milliseconds, the same for everything it writes
	discard bool  // roll back although nothing failed
	queue   []statement
	last    []statement
	lastSeq map[fika.ConversationID]int64   // of the conversations that this transaction has locked
	workers map[fika.RequestID]fika.AgentID // of the requests that it has locked or made
	events  []*event
	results []Result // beside those of the events; see [tx.also]
	booking booking
	// intended is what was found when the key of the operation was intended; see
	// [Store.Intend].
	intended string
}

// run runs the queued statements and then list, in one round trip.
func (t *tx) run(ctx context.Context, list ...statement) error {
	if len(t.queue) > 0 {
		list = append(t.queue, list...)
		t.queue = nil
	}
	if len(list) == 0 {
		return nil
	}
	return t.c.run(ctx, list...)
}

// exec runs a statement and returns the number of rows that it changed.
func (t *tx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	var n int64
	err := t.run(ctx, statement{text: text, args: args, hit: &n})
	return n, err
}

// put runs a statement whose answer nobody waits for. On a server it is sent with the
// next statement that somebody waits for, or with the commit.
func (t *tx) put(ctx context.Context, text string, args ...any) error {
	return t.add(ctx, statement{text: text, args: args})
}

func (t *tx) add(ctx context.Context, st ...statement) error {
	if t.c.distant() {
		t.queue = append(t.queue, st...)
		return nil
	}
	return t.c.run(ctx, st...)
}

// putLast runs a statement just before the commit, so that rows that many
// transactions want are locked last.
func (t *tx) putLast(text string, args ...any) {
	t.last = append(t.last, statement{text: text, args: args})
}

// newID returns a new id. The n-th id of an operation is the same in each of its
// tries.
func (t *tx) newID() string {
	if t.made == len(t.op.ids) {
		t.op.ids = append(t.op.ids, t.db.opt.NewID())
	}
	t.made++
	return t.op.ids[t.made-1]
}

// tick sets the transaction's time. It comes after the locks, so that times follow
// the order of commits.
func (t *tx) tick() statement {
	return statement{text: readClock, read: func(r rows) error {
		if !r.Next() {
			return r.Err()
		}
		var ms int64
		if err := r.Scan(&ms); err != nil {
			return err
		}
		t.now = t.db.heard(ms)
		return nil
	}}
}

// readClock asks an engine with a clock of its own for the time.
const readClock = `SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`

// begin takes the transaction's locks in the given order and sets its time.
func (t *tx) begin(ctx context.Context, locks ...statement) error {
	if t.c.distant() {
		return t.run(ctx, append(locks, t.tick())...)
	}
	t.now = t.db.nowMS()
	return t.run(ctx, locks...)
}

// A write that finds the database busy tries again after about as long as a commit
// takes, then less and less often. SQLite's own waiting begins at a millisecond and
// is soon at ten.
const (
	firstWait = 200 * time.Microsecond
	lastWait  = 5 * time.Millisecond
	// goneWait is how long to wait before trying a server again that is gone.
	goneWait = 100 * time.Millisecond
)

// write runs fn in a transaction that is durable when write returns nil. fn may run
// several times, so it must do nothing but assign results, and must assign all of
// them. Once begun, a transaction is not interrupted: it is short, and half of an
// answer that was paid for helps nobody.
func (s *db) write(ctx context.Context, op string, fn change) error {
	return s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		if err := t.begin(ctx); err != nil {
			return err
		}
		return fn(ctx, t)
	})
}

// writeRelaxed is write for changes that a power failure may undo.
func (s *db) writeRelaxed(ctx context.Context, op string, fn change) error {
	return s.writeWith(ctx, op, relaxed, func(ctx context.Context, t *tx) error {
		if err := t.begin(ctx); err != nil {
			return err
		}
		return fn(ctx, t)
	})
}

// errAgain ends a try that has learned what it must lock first, or whose rows have
// changed.
var errAgain = errors.New("begin again")

// maxClashes is how often an operation is tried again because rows that it wanted to
// add were already there: the next try sees them. More clashes would be a mistake of
// ours.
const maxClashes = 50

// writeWith runs fn in a transaction, and tries again while the database is busy or
// its server gone, for as long as the store is willing to wait. fn calls [tx.begin]
// first if it takes locks or needs the exact time. If the answer to a commit was
// lost, writeWith does not return before it knows whether that was committed, unless
// ctx ends.
func (s *db) writeWith(ctx context.Context, name string, d durability, fn change) error {
	op := &operation{name: name, durability: d, n: s.operations.Add(1)}
	if d == durable {
		op.key = s.key
	}
	deadline := time.Now().Add(s.opt.BusyWait)
	defer func() {
		if op.writing {
			<-s.writing
		}
	}()
	clashes := 0
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := s.try(ctx, op, fn, deadline)
		if err == nil {
			if op.kept {
				s.key = nil
			}
			return nil
		}
		f := s.d.fault(err)
		switch {
		case errors.Is(err, errAgain):
			continue
		case f == faultClash && clashes < maxClashes:
			clashes++
		case f == faultBusy || f == faultConn:
			if f == faultConn && s.opt.URL != "" {
				wait = goneWait
			}
			if time.Now().After(deadline) && !op.inDoubt {
				return s.explain(name, err)
			}
		default:
			return s.explain(name, err)
		}
		if err := sleep.For(ctx, wait/2+rand.N(wait)); err != nil {
			return s.explain(name, err)
		}
	}
}

// try is one try of an operation. While the operation is in doubt, it keeps the right
// to write, so that the record of its fate is not overwritten.
func (s *db) try(ctx context.Context, op *operation, fn change, deadline time.Time) error {
	if err := s.mayWrite(ctx, op, deadline); err != nil {
		return err
	}
	defer func() {
		if !op.inDoubt {
			op.writing = false
			<-s.writing
		}
	}()
	ctx = context.WithoutCancel(ctx)
	if s.file == nil {
		// A network may never answer. The driver of a file is spared the deadline: it
		// would start a goroutine for each statement.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.opt.tryFor, errSilent)
		defer cancel()
	}
	c, err := s.e.writer(ctx)
	if err == nil {
		t := &tx{db: s, c: c, op: op, lastSeq: map[fika.ConversationID]int64{}, workers: map[fika.RequestID]fika.AgentID{}}
		err = s.attempt(ctx, t, fn)
		s.e.done(c, err)
	}
	return silence(ctx, err)
}

// errSilent ends a try that the database does not answer.
var errSilent = errors.New("it does not answer")

// silence returns err, or errSilent if err only says that the time for a try, or for
// connecting, was over, for in that case no caller has given up.
func silence(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && (ctx.Err() == nil || errors.Is(context.Cause(ctx), errSilent)) {
		return errSilent
	}
	return err
}

// mayWrite waits for this process's other writers.
func (s *db) mayWrite(ctx context.Context, op *operation, deadline time.Time) error {
	if op.writing {
		return ctx.Err()
	}
	wait, cancel := context.WithDeadlineCause(ctx, deadline.Add(time.Second), ErrBusy)
	defer cancel()
	select {
	case s.writing <- struct{}{}:
	case <-wait.Done():
		return context.Cause(wait)
	}
	op.writing = true
	if err := ctx.Err(); err != nil {
		op.writing = false
		<-s.writing
		return err
	}
	return nil
}

// attempt runs the transaction on a connection.
func (s *db) attempt(ctx context.Context, t *tx, fn change) error {
	if err := t.add(ctx, t.c.beginning(t.op.durability)...); err != nil {
		return err
	}
	if t.op.inDoubt {
		known, err := t.committedBefore(ctx)
		if err != nil || known {
			t.op.kept = known && t.op.key != nil
			return errors.Join(err, t.rollback(ctx))
		}
	}
	if err := t.admit(ctx); err != nil {
		_ = t.rollback(ctx)
		return err
	}
	err := fn(ctx, t)
	if err == nil && !t.discard {
		return t.commit(ctx)
	}
	// After some errors SQLite has already rolled back; then this fails, and there is
	// nothing to undo.
	_ = t.rollback(ctx)
	return err
}

func (t *tx) rollback(ctx context.Context) error {
	t.queue = nil
	return t.c.run(ctx, statement{text: `ROLLBACK`})
}

// commit commits the transaction. An error after the commit was sent leaves the
// operation in doubt.
func (t *tx) commit(ctx context.Context) error {
	// Within one process the answer to a commit cannot be lost, except when a test
	// loses it.
	if t.op.durability == durable && (t.c.distant() || t.db.opt.lose != nil) {
		t.last = append(t.last, statement{text: markOperation, args: []any{t.db.id, t.op.n, t.now}})
	}
	if t.op.key != nil {
		st, err := t.keep()
		if err != nil {
			_ = t.rollback(ctx)
			return err
		}
		t.last = append(t.last, st)
	}
	events, err := t.eventStatements()
	if err != nil {
		_ = t.rollback(ctx)
		return err
	}
	t.last = append(t.last, events...)
	if !t.c.distant() {
		if err := t.run(ctx, t.last...); err != nil {
			_ = t.rollback(ctx)
			return err
		}
		t.last = nil
	}
	crash.Committing(t.op.name)
	err = t.run(ctx, append(t.last, statement{text: `COMMIT`})...)
	if err == nil && t.db.opt.lose != nil && t.db.opt.lose() {
		err = errLost
	}
	if err != nil {
		t.op.inDoubt = t.op.inDoubt || t.op.durability == durable && t.db.d.fault(err) == faultConn
		_ = t.rollback(ctx)
		return err
	}
	crash.Committed(t.op.name)
	if t.op.durability == durable && t.c.distant() {
		t.db.marked.Store(t.op.n) // one at a time writes
	}
	t.op.kept = t.op.key != nil
	if ring := t.db.bell.Load(); ring != nil && len(t.events) > 0 {
		(*ring)()
	}
	return nil
}

// errLost stands for a connection that was lost together with the answer to a commit.
var errLost = errors.New("the answer was lost")

// markOperation records the last operation that a store has committed.
const markOperation = `INSERT INTO writers (id, op, at) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET op = excluded.op, at = excluded.at`

// committedBefore reports whether an earlier try of the operation was committed. It
// waits for that try to end if the server is still running it.
func (t *tx) committedBefore(ctx context.Context) (bool, error) {
	n, _, err := one(ctx, t, scanInt, `INSERT INTO writers (id, op, at) VALUES (?, 0, 0) ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING op`, t.db.id)
	if err == nil && n != t.op.n {
		t.op.inDoubt = false
	}
	return err == nil && n == t.op.n, err
}
