// Package bound holds the limits of one answer, so that a broken or hostile server cannot
// flood a turn: how long it may take and be silent, how much text it may have, and how many
// tool calls.
//
// Read first: [Limits], [Model].
package bound

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fika"
	"fika/internal/llm"
)

const op = "model call"

// Limits bound one answer, as the settings of [answer] do. All must be positive.
type Limits struct {
	Calls  int           // tool calls
	Bytes  int64         // of text, reasoning, and what else is kept of it, such as tool arguments
	Silent time.Duration // in which only signs of life come
	Total  time.Duration // from the call to its end
}

var (
	errSilent  = errors.New("silent")
	errEndless = errors.New("endless")
)

// overdue says that a limit of time was reached.
type overdue struct {
	limit error // errSilent, errEndless
	late  time.Duration
}

func (o overdue) Error() string { return o.limit.Error() }
func (o overdue) Unwrap() error { return o.limit }

// absent is how late a timer has to fire for that to mean that this process did not run:
// a machine that is busy is not as late.
const absent = 10 * time.Second

// wasAbsent reports that for most of the time this process did not run: it was stopped, or
// the virtual machine that it is in. Where a machine sleeps, timers sleep as well, and what
// tells afterwards is that the connection is gone.
func (o overdue) wasAbsent() bool { return o.late > absent }

// Model returns m within limits. An answer that takes too long, says nothing for too long,
// or is too large, ends with an error of kind Limit that names the setting, which is not
// retried; if this process did not run for most of that time, with one of kind Provider,
// which is. An answer with too many calls is returned without them, with [llm.StopFlood],
// because it was paid for. KeepAlive events become Alive.
func Model(m llm.Model, l Limits) llm.Model { return &model{m, l} }

type model struct {
	inner  llm.Model
	limits Limits
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin := time.Now()
	var heard atomic.Int64 // when the provider was heard last, since begin
	silent := time.AfterFunc(m.limits.Silent, func() {
		cancel(overdue{errSilent, time.Since(begin) - time.Duration(heard.Load()) - m.limits.Silent})
	})
	defer silent.Stop()
	total := time.AfterFunc(m.limits.Total, func() { cancel(overdue{errEndless, time.Since(begin) - m.limits.Total}) })
	defer total.Stop()

	var seen int64
	visible := false
	res, err := m.inner.Generate(call, r, func(e llm.Event) error {
		switch e.Kind {
		case llm.KeepAlive:
			e.Kind = llm.Alive
			return emit(e)
		case llm.TextDelta, llm.ReasoningDelta, llm.Alive:
			if seen += int64(len(e.Text) + e.Size); seen > m.limits.Bytes {
				return fika.Errorf(fika.Limit, op, "the model's answer is longer than %d bytes and was cut off ([answer] max_bytes)", m.limits.Bytes)
			}
		}
		// A reader may take its time: only what the provider does counts.
		silent.Stop()
		defer func() {
			heard.Store(int64(time.Since(begin)))
			silent.Reset(m.limits.Silent)
		}()
		visible = visible || e.Kind == llm.TextDelta
		return emit(e)
	})
	if err != nil && ctx.Err() == nil {
		var o overdue
		switch cause := context.Cause(call); {
		case errors.As(cause, &o) && o.wasAbsent():
			return llm.Response{}, fika.Wrap(fika.Provider, op, &llm.ProviderError{
				Message: fmt.Sprintf("this process did not run for %s, and the answer that was under way is lost", o.late.Round(time.Second)), Visible: visible,
			})
		case errors.Is(cause, errSilent):
			return res, fika.Errorf(fika.Limit, op, "the provider sent nothing but signs of life for %s and was given up ([answer] max_silent)", m.limits.Silent)
		case errors.Is(cause, errEndless):
			return res, fika.Errorf(fika.Limit, op, "the answer did not end within %s and was cut off ([answer] max_time)", m.limits.Total)
		}
	}
	if n := len(res.Calls); err == nil && n > m.limits.Calls {
		res.Stop, res.Calls, res.Blob = llm.StopFlood, nil, nil
		res.StopText = fmt.Sprintf("%d tool calls in one answer; it may make %d ([answer] max_tool_calls)", n, m.limits.Calls)
	}
	return res, err
}
