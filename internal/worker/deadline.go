package worker

import (
	"context"
	"sync"
	"time"
)

// deadline ends a turn that has worked for long enough. It stands still while a person
// is asked something.
type deadline struct {
	mu    sync.Mutex
	left  time.Duration // when it last started to run
	since time.Time
	timer *time.Timer
	asked int // open questions
}

// withDeadline derives a context that ends after d of work, with
// [context.DeadlineExceeded] as its cause. The caller must call cancel.
func withDeadline(ctx context.Context, d time.Duration) (_ context.Context, _ *deadline, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	at := &deadline{left: d, since: time.Now()}
	at.timer = time.AfterFunc(d, func() { end(context.DeadlineExceeded) })
	return ctx, at, func() { at.timer.Stop(); end(nil) }
}

// pause stops the clock until the returned function is called. A nil deadline never
// expires.
func (d *deadline) pause() (resume func()) {
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked++; d.asked == 1 && d.timer.Stop() {
		d.left -= time.Since(d.since)
	}
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.asked--; d.asked == 0 {
			d.since = time.Now()
			d.timer.Reset(max(d.left, 0))
		}
	})
}
