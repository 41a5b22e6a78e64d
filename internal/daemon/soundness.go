package daemon

import (
	"context"
	"time"

	"fika/internal/process"
	"fika/internal/store"
)

// soundBeforeUp is how long a hub that is ready otherwise waits for the look at
// its database: enough for a file of some ten megabytes. What is larger is
// looked through while the hub works.
const soundBeforeUp = 40 * time.Millisecond

// soundness is a look through the whole database for damage, on its way.
type soundness struct {
	done   chan struct{} // closed when err is known, at the latest when ctx has ended
	err    error
	thread process.Thread // that looks
}

// lookThrough begins to look; the look ends with ctx at the latest.
func lookThrough(ctx context.Context, s *store.Store) *soundness {
	l := &soundness{done: make(chan struct{})}
	began := make(chan process.Thread)
	go func() {
		defer close(l.done)
		began <- process.OwnThread()
		l.err = s.CheckPages(ctx)
	}()
	l.thread = <-began
	return l
}

// found says whether damage is known within d. A look that takes longer lets
// the work of hub and agents go before it.
func (l *soundness) found(d time.Duration) bool {
	select {
	case <-l.done:
		return l.err != nil
	case <-time.After(d):
		l.thread.Yield()
		return false
	}
}

// endFor calls end when damage is found before ctx ends.
func (l *soundness) endFor(ctx context.Context, end context.CancelFunc) {
	select {
	case <-l.done:
		if l.err != nil {
			end()
		}
	case <-ctx.Done():
	}
}
