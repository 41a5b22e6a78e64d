package daemon

import (
	"context"
	"time"

	"fika/internal/store"
	"fika/internal/system/process"
)

// soundBeforeUp is how long a hub that is otherwise ready waits for the check of its
// database: enough for a file of some ten megabytes. Larger files are checked while the
// hub works.
const soundBeforeUp = 40 * time.Millisecond

// soundness is a check of the whole database for damage, in progress.
type soundness struct {
	done   chan struct{} // closed when err is known, at the latest after ctx has ended
	err    error
	thread process.Thread // the thread that runs the check
}

// lookThrough starts the check. It ends with ctx at the latest.
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

// found reports whether damage becomes known within d. A check that takes longer then
// gives way to the work of hub and agents.
func (l *soundness) found(d time.Duration) bool {
	select {
	case <-l.done:
		return l.err != nil
	case <-time.After(d):
		l.thread.Yield()
		return false
	}
}

// endFor calls end if damage is found before ctx ends.
func (l *soundness) endFor(ctx context.Context, end context.CancelFunc) {
	select {
	case <-l.done:
		if l.err != nil {
			end()
		}
	case <-ctx.Done():
	}
}
