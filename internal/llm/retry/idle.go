package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fika"
	"fika/internal/llm"
)

var errIdle = errors.New("no data")

type idler struct {
	inner llm.Model
	after time.Duration
}

// IdleTimeout ends a call of m if nothing arrives for d: the error is a ProviderError
// with Status 0, so a [Retry] around it tries again. Everything that arrives counts,
// even without text (Alive events, which are not passed on). If d <= 0, it returns m
// itself.
func IdleTimeout(m llm.Model, d time.Duration) llm.Model {
	if d <= 0 {
		return m
	}
	return &idler{m, d}
}

// Generate implements [llm.Model].
func (i *idler) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(i.after, func() { cancel(errIdle) })
	defer timer.Stop()

	visible := false
	res, err := i.inner.Generate(call, r, func(e llm.Event) error {
		// The consumer may take its time: only silence from the provider counts.
		timer.Stop()
		defer timer.Reset(i.after)
		if e.Kind == llm.Alive {
			return nil
		}
		visible = visible || e.Kind == llm.TextDelta
		return emit(e)
	})
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(call), errIdle) {
		return llm.Response{}, fika.Wrap(fika.Provider, op, &llm.ProviderError{
			Message: fmt.Sprintf("the provider sent no data for %s", i.after), Visible: visible,
		})
	}
	return res, err
}
