package retry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/system/sleep"
)

const op = "model call"

// Policy says how often and how long to try. Zero fields take the defaults.
type Policy struct {
	Attempts int           // calls in all; default 5
	Total    time.Duration // no attempt begins later than this after the first one did; default 5 min
	Base     time.Duration // upper bound of the first wait, doubled each time; default 500 ms
	Max      time.Duration // upper bound of any wait that the provider did not ask for; default 30 s

	Now   func() time.Time                                 // default time.Now
	Sleep func(ctx context.Context, d time.Duration) error // default: a timer; returns ctx's error if ctx ends first
	Rand  func() float64                                   // in [0, 1); default math/rand
}

func (p Policy) withDefaults() Policy {
	if p.Attempts <= 0 {
		p.Attempts = 5
	}
	if p.Total <= 0 {
		p.Total = 5 * time.Minute
	}
	if p.Base <= 0 {
		p.Base = 500 * time.Millisecond
	}
	if p.Max <= 0 {
		p.Max = 30 * time.Second
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Sleep == nil {
		p.Sleep = sleep.For
	}
	if p.Rand == nil {
		p.Rand = rand.Float64
	}
	return p
}

type retrier struct {
	inner  llm.Model
	policy Policy
}

// Retry calls m again after errors that may pass: no answer, 408, 409, 429 and 5xx. It
// waits as long as the provider asks, else for a random time below a bound that doubles
// (full jitter). Before a wait of a second and more it emits Retrying; if anything of the failed attempt
// was shown, Restarted comes first. An error from emit is never retried.
func Retry(m llm.Model, p Policy) llm.Model { return &retrier{m, p.withDefaults()} }

// Generate implements [llm.Model].
func (r *retrier) Generate(ctx context.Context, req llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	p := r.policy
	begin := p.Now()
	bound := p.Base
	var wasted fika.Usage
	for attempt := 1; ; attempt++ {
		shown, refused := false, false
		res, err := r.inner.Generate(ctx, req, func(e llm.Event) error {
			shown = shown || e.Kind == llm.TextDelta || e.Kind == llm.ReasoningDelta
			err := emit(e)
			refused = refused || err != nil
			return err
		})
		var failure *llm.ProviderError
		if err != nil {
			wasted = wasted.Add(res.Usage)
			res = llm.Response{}
		}
		res.Wasted = res.Wasted.Add(wasted)
		if err == nil || refused || ctx.Err() != nil || !errors.As(err, &failure) || !failure.Retryable() || llm.IsTooLong(err) {
			return res, err
		}
		wait := time.Duration(p.Rand() * float64(bound))
		bound = min(2*bound, p.Max)
		if failure.RetryAfter > 0 {
			wait = failure.RetryAfter
		}
		if attempt >= p.Attempts {
			return res, exhaustedError(err, attempt, "")
		}
		if p.Now().Sub(begin)+wait > p.Total {
			return res, exhaustedError(err, attempt, fmt.Sprintf("; the next one would have to wait %s, longer than is allowed", waitWords(wait)))
		}
		if err := announceRetry(emit, shown, failure, wait); err != nil {
			return res, err
		}
		if err := p.Sleep(ctx, wait); err != nil {
			return res, fika.Wrap(fika.Interrupted, op, context.Cause(ctx))
		}
	}
}

// waitWords formats a wait, and never as zero.
func waitWords(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	return d.Round(time.Second).String()
}

// worthTelling is the shortest wait that is announced.
const worthTelling = time.Second

func announceRetry(emit func(llm.Event) error, shown bool, failure *llm.ProviderError, wait time.Duration) error {
	if shown {
		if err := emit(llm.Event{Kind: llm.Restarted, Reason: failure.Message}); err != nil {
			return err
		}
	}
	if wait < worthTelling {
		return nil
	}
	return emit(llm.Event{Kind: llm.Retrying, After: wait, Reason: failure.Message})
}

// exhaustedError wraps err with the number of attempts; the cause is kept.
func exhaustedError(err error, attempts int, why string) error {
	if attempts == 1 && why == "" {
		return err
	}
	tries := fmt.Sprintf("%d attempts", attempts)
	if attempts == 1 {
		tries = "one attempt"
	}
	return &fika.Error{Kind: fika.KindOf(err), Op: op, Msg: "gave up after " + tries + why, Err: withoutOp(err)}
}

// withoutOp removes the outer [fika.Error] if it adds nothing but the operation.
func withoutOp(err error) error {
	if e, ok := err.(*fika.Error); ok && e.Msg == "" && e.Err != nil {
		return e.Err
	}
	return err
}
