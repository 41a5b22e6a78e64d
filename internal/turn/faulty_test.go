package turn_test

import (
	"context"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
)

// faulty is a store whose operations a test makes fail: before decides whether
// an operation reaches the store, after whether its caller learns that it did.
type faulty struct {
	*store.Store
	before func(op string) error
	after  func(op string) error
}

func through[T any](f *faulty, op string, do func() (T, error)) (T, error) {
	var zero T
	if f.before != nil {
		if err := f.before(op); err != nil {
			return zero, err
		}
	}
	v, err := do()
	if err == nil && f.after != nil {
		if err := f.after(op); err != nil {
			return zero, err
		}
	}
	return v, err
}

func done(f func() error) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, f() }
}

func (f *faulty) Signal(ctx context.Context, x store.Fence) (store.Signal, error) {
	return through(f, "signal", func() (store.Signal, error) { return f.Store.Signal(ctx, x) })
}

func (f *faulty) Steps(ctx context.Context, id fika.RequestID) ([]fika.Step, error) {
	return through(f, "steps", func() ([]fika.Step, error) { return f.Store.Steps(ctx, id) })
}

func (f *faulty) CommitModel(ctx context.Context, x store.Fence, m store.ModelCommit) (store.Planned, error) {
	return through(f, "model", func() (store.Planned, error) { return f.Store.CommitModel(ctx, x, m) })
}

func (f *faulty) BeginTool(ctx context.Context, x store.Fence, n int, h string, m fika.Mode) (store.Signal, error) {
	return through(f, "begin", func() (store.Signal, error) { return f.Store.BeginTool(ctx, x, n, h, m) })
}

func (f *faulty) RecordProcess(ctx context.Context, x store.Fence, n int, p fika.Process) error {
	_, err := through(f, "process", done(func() error { return f.Store.RecordProcess(ctx, x, n, p) }))
	return err
}

func (f *faulty) CommitTool(ctx context.Context, x store.Fence, n int, c store.ToolCommit) (fika.Entry, error) {
	return through(f, "tool", func() (fika.Entry, error) { return f.Store.CommitTool(ctx, x, n, c) })
}

func (f *faulty) Delegate(ctx context.Context, x store.Fence, d []store.Delegation) (store.Delegated, error) {
	return through(f, "delegate", func() (store.Delegated, error) { return f.Store.Delegate(ctx, x, d) })
}

func (f *faulty) Await(ctx context.Context, x store.Fence) (store.Awaited, error) {
	return through(f, "await", func() (store.Awaited, error) { return f.Store.Await(ctx, x) })
}

func (f *faulty) Finish(ctx context.Context, x store.Fence, e store.Finish) (store.Finished, error) {
	return through(f, "finish", func() (store.Finished, error) { return f.Store.Finish(ctx, x, e) })
}

func (f *faulty) Suspend(ctx context.Context, x store.Fence, r fika.WaitReason, t time.Time) error {
	_, err := through(f, "suspend", done(func() error { return f.Store.Suspend(ctx, x, r, t) }))
	return err
}

func (f *faulty) PromptGuest(ctx context.Context, x store.Fence, g store.GuestSession) (store.Signal, error) {
	return through(f, "prompt guest", func() (store.Signal, error) { return f.Store.PromptGuest(ctx, x, g) })
}

func (f *faulty) SettleGuest(ctx context.Context, x store.Fence, cost int64) error {
	_, err := through(f, "settle guest", func() (bool, error) { return true, f.Store.SettleGuest(ctx, x, cost) })
	return err
}

func (f *faulty) HoldApproval(ctx context.Context, x store.Fence, a store.Approval, until time.Time) (n int64, sig store.Signal, err error) {
	n, err = through(f, "hold approval", func() (n int64, err error) {
		n, sig, err = f.Store.HoldApproval(ctx, x, a, until)
		return n, err
	})
	return n, sig, err
}

func (f *faulty) TakeInputs(ctx context.Context, x store.Fence) ([]fika.Entry, error) {
	return through(f, "take inputs", func() ([]fika.Entry, error) { return f.Store.TakeInputs(ctx, x) })
}

func (f *faulty) HandBack(ctx context.Context, x store.Fence) error {
	_, err := through(f, "hand back", done(func() error { return f.Store.HandBack(ctx, x) }))
	return err
}

func (f *faulty) Before(ctx context.Context, c fika.ConversationID, upto int64, limit int) ([]fika.Entry, error) {
	return through(f, "before", func() ([]fika.Entry, error) { return f.Store.Before(ctx, c, upto, limit) })
}

func (f *faulty) OfRequest(ctx context.Context, id fika.RequestID) ([]fika.Entry, error) {
	return through(f, "of request", func() ([]fika.Entry, error) { return f.Store.OfRequest(ctx, id) })
}

func (f *faulty) Frame(ctx context.Context, c fika.ConversationID, view fika.AgentID, upto int64) (store.Frame, error) {
	return through(f, "compaction", func() (store.Frame, error) { return f.Store.Frame(ctx, c, view, upto) })
}

// death is a process that dies at its k-th operation on the store, or when a
// tool says so: from then on nothing it does reaches the store.
type death struct {
	mu    sync.Mutex
	left  int  // operations until death
	after bool // the last operation still happens
	dead  bool
}

var errDead = fika.Errorf(fika.Lost, "test", "the process is dead")

func (d *death) store(s *store.Store) *faulty {
	return &faulty{Store: s, before: d.before, after: d.later}
}

func (d *death) before(string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDead
	}
	if d.left--; d.left == 0 && !d.after {
		d.dead = true
		return errDead
	}
	return nil
}

func (d *death) later(string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead || d.after && d.left == 0 {
		d.dead = true
		return errDead
	}
	return nil
}

func (d *death) die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

func (d *death) died() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}
