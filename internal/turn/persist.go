package turn

import (
	"context"
	"time"

	"fika"
	"fika/internal/store"
)

const (
	retryFirst = 20 * time.Millisecond
	retryMost  = 2 * time.Second
	// stopGrace is how long a write is retried after the process was told to stop: less
	// than the time after which it would be killed.
	stopGrace = 10 * time.Second
)

// storeRetry repeats reads and writes that the store refuses for the moment.
type storeRetry struct {
	stop  <-chan struct{}
	grace time.Duration
	now   func() time.Time
	tell  func(Event)
}

// persistWrite calls write until the store takes it. A store that refuses (full disk,
// read-only, busy) is asked again, for Config.Grace or for ever, because what is being
// written may be a paid answer or the trace of an effect. The end of ctx does not stop a
// write, because what happened must be recorded; a stop of the process bounds it. A
// store with lasting damage is not asked again.
func (r *storeRetry) persistWrite(ctx context.Context, write func(context.Context) error) error {
	return r.retryStore(ctx, write, func() bool { return false })
}

// readAgain is like persistWrite for calls without an effect: it also gives up when the
// turn is to end, since nothing is lost by that.
func (r *storeRetry) readAgain(ctx context.Context, read func(context.Context) error) error {
	return r.retryStore(ctx, read, func() bool { return r.isStopped() || ctx.Err() != nil })
}

func (r *storeRetry) isStopped() bool {
	select {
	case <-r.stop:
		return true
	default:
		return false
	}
}

func (r *storeRetry) retryStore(ctx context.Context, write func(context.Context) error, enough func() bool) error {
	safe := context.WithoutCancel(ctx)
	var deadline time.Time
	if r.grace > 0 {
		deadline = r.now().Add(r.grace)
	}
	stop := r.stop // nil once heard
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		err := write(safe)
		if !fika.IsKind(err, fika.Storage) || store.IsLasting(err) {
			return err
		}
		if enough() || !deadline.IsZero() && r.now().After(deadline) {
			return err
		}
		r.tell(Event{Kind: StorageBusy, Text: err.Error()})
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-stop:
			pause.Stop()
			stop, wait = nil, retryFirst
			if last := r.now().Add(stopGrace); deadline.IsZero() || last.Before(deadline) {
				deadline = last
			}
		}
	}
}
