package worker

import (
	"context"
	"sync"
	"time"
)

// deadline ends a turn when it has worked for long enough. While a person is
// asked something it stands still.
type deadline struct {
	mu    sync.Mutex
	left  time.Duration // when it began to run last
	since time.Time
	timer *time.Timer
	asked int // questions that are open
}

// withDeadline derives a context that ends after d of work, with
// [context.DeadlineExceeded] as its cause. Call cancel.
func withDeadline(ctx context.Context, d time.Duration) (_ context.Context, _ *deadline, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	at := &deadline{left: d, since: time.Now()}
	at.timer = time.AfterFunc(d, func() { end(context.DeadlineExceeded) })
	return ctx, at, func() { at.timer.Stop(); end(nil) }
}

// pause lets it stand still until the function that it returns is called. A nil
// deadline never ends.
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
