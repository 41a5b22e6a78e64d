package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlineStandsStill: the time for which a person is asked is not a turn's.
func TestDeadlineStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, d, cancel := withDeadline(t.Context(), time.Minute)
		defer cancel()
		time.Sleep(50 * time.Second)
		first, second := d.pause(), d.pause()
		time.Sleep(time.Hour)
		first()
		first()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("it ended while a question was open")
		}
		second()
		time.Sleep(9 * time.Second)
		if ctx.Err() != nil {
			t.Fatal("it ended too early")
		}
		time.Sleep(2 * time.Second)
		if context.Cause(ctx) != context.DeadlineExceeded {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
	})
}
