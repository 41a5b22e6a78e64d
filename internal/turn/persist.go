package turn

import (
	"context"
	"time"

	"fika"
)

const (
	retryFirst = 20 * time.Millisecond
	retryMost  = 2 * time.Second
)

// persist calls write until the store takes it. A refusing store (full disk,
// read-only, busy) is asked again, because what is being written may be a paid
// answer or the trace of an effect: for Config.Grace, or for ever. An ended
// ctx does not stop a write: what happened must be recorded.
func (w *attempt) persist(ctx context.Context, write func(context.Context) error) error {
	return w.retryStore(ctx, write, func() bool { return false })
}

// read is persist for what has no effect: it gives up as well when the turn is
// to end, since nothing is lost by that.
func (w *attempt) read(ctx context.Context, read func(context.Context) error) error {
	return w.retryStore(ctx, read, func() bool {
		select {
		case <-w.cfg.Stop:
			return true
		default:
			return ctx.Err() != nil
		}
	})
}

func (w *attempt) retryStore(ctx context.Context, write func(context.Context) error, enough func() bool) error {
	safe := context.WithoutCancel(ctx)
	var deadline time.Time
	if w.cfg.Grace > 0 {
		deadline = w.cfg.Now().Add(w.cfg.Grace)
	}
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		err := write(safe)
		if !fika.IsKind(err, fika.Storage) {
			return err
		}
		if enough() || !deadline.IsZero() && w.cfg.Now().After(deadline) {
			return err
		}
		w.tell(Event{Kind: StorageBusy, Text: err.Error()})
		time.Sleep(wait)
	}
}
