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
	// stopGrace is how long a write is tried again after the process was told
	// to stop: less than the time after which it would be killed.
	stopGrace = 10 * time.Second
)

// persist calls write until the store takes it. A refusing store (full disk,
// read-only, busy) is asked again, because what is being written may be a paid
// answer or the trace of an effect: for Config.Grace, or for ever. An ended
// ctx does not stop a write, for what happened must be recorded; a stop of the
// process bounds it. A store that stays damaged is not asked again.
func (w *attempt) persist(ctx context.Context, write func(context.Context) error) error {
	return w.retryStore(ctx, write, func() bool { return false })
}

// read is persist for what has no effect: it gives up as well when the turn is
// to end, since nothing is lost by that.
func (w *attempt) read(ctx context.Context, read func(context.Context) error) error {
	return w.retryStore(ctx, read, func() bool { return w.stopped() || ctx.Err() != nil })
}

func (w *attempt) stopped() bool {
	select {
	case <-w.cfg.Stop:
		return true
	default:
		return false
	}
}

func (w *attempt) retryStore(ctx context.Context, write func(context.Context) error, enough func() bool) error {
	safe := context.WithoutCancel(ctx)
	var deadline time.Time
	if w.cfg.Grace > 0 {
		deadline = w.cfg.Now().Add(w.cfg.Grace)
	}
	stop := w.cfg.Stop // nil once heard
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		err := write(safe)
		if !fika.IsKind(err, fika.Storage) || store.Lasting(err) {
			return err
		}
		if enough() || !deadline.IsZero() && w.cfg.Now().After(deadline) {
			return err
		}
		w.tell(Event{Kind: StorageBusy, Text: err.Error()})
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-stop:
			pause.Stop()
			stop, wait = nil, retryFirst
			if last := w.cfg.Now().Add(stopGrace); deadline.IsZero() || last.Before(deadline) {
				deadline = last
			}
		}
	}
}
