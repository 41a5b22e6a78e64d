package sleep

import (
	"context"
	"time"
)

// For waits for d and returns nil, or returns the cause of ctx's end as soon as ctx
// ends. With a d of 0 or less it only checks whether ctx has ended.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
