package retry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/retry"
)

// fake is a model made of one function per attempt; the last one repeats.
type fake struct {
	attempts []func(context.Context, func(llm.Event) error) (llm.Response, error)
	calls    int
}

func (f *fake) Generate(ctx context.Context, _ llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	n := min(f.calls, len(f.attempts)-1)
	f.calls++
	return f.attempts[n](ctx, emit)
}

type attempt = func(context.Context, func(llm.Event) error) (llm.Response, error)

func model(a ...attempt) *fake { return &fake{attempts: a} }

func fails(status int, after time.Duration, text string) attempt {
	return func(_ context.Context, emit func(llm.Event) error) (llm.Response, error) {
		if text != "" {
			if err := emit(llm.Event{Kind: llm.TextDelta, Text: text}); err != nil {
				return llm.Response{}, err
			}
		}
		return llm.Response{}, fika.Wrap(fika.Provider, "model call", &llm.ProviderError{Status: status, Message: "trouble", RetryAfter: after})
	}
}

func says(text string) attempt {
	return func(_ context.Context, emit func(llm.Event) error) (llm.Response, error) {
		err := emit(llm.Event{Kind: llm.TextDelta, Text: text})
		return llm.Response{Text: text, Usage: fika.Usage{Input: 1000, Cached: 400, Output: 10}}, err
	}
}

func run(t *testing.T, m llm.Model) (llm.Response, []llm.Event, error) {
	t.Helper()
	var events []llm.Event
	res, err := m.Generate(t.Context(), llm.Request{}, func(e llm.Event) error {
		events = append(events, e)
		return nil
	})
	return res, events, err
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := model(fails(503, 0, ""), fails(429, 7*time.Second, "half"), says("whole"))
		begin := time.Now()
		res, events, err := run(t, retry.Retry(f, retry.Policy{Rand: func() float64 { return 0.5 }}))
		if err != nil || res.Text != "whole" {
			t.Fatalf("response %+v, error %v", res, err)
		}
		want := []llm.Event{
			{Kind: llm.TextDelta, Text: "half"},
			{Kind: llm.Restarted, Reason: "trouble"},
			{Kind: llm.Retrying, After: 7 * time.Second, Reason: "trouble"},
			{Kind: llm.TextDelta, Text: "whole"},
		}
		if d := cmp.Diff(want, events); d != "" {
			t.Errorf("events (-want +got):\n%s", d)
		}
		if waited := time.Since(begin); waited != 7250*time.Millisecond {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestRetryGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		model  *fake
		policy retry.Policy
		calls  int
		says   string
	}{
		"not worth it":     {model(fails(400, 0, "")), retry.Policy{}, 1, "trouble"},
		"attempts":         {model(fails(500, 0, "")), retry.Policy{Attempts: 3}, 3, "gave up after 3 attempts"},
		"default attempts": {model(fails(0, 0, "")), retry.Policy{}, 5, "gave up after 5"},
		"asked too long":   {model(fails(429, time.Hour, "")), retry.Policy{}, 1, "longer than is allowed"},
		"total":            {model(fails(429, 40*time.Second, "")), retry.Policy{Total: time.Minute}, 2, "longer than is allowed"},
		"not a provider": {model(func(context.Context, func(llm.Event) error) (llm.Response, error) {
			return llm.Response{}, fika.Errorf(fika.Limit, "x", "over")
		}), retry.Policy{}, 1, "over"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, _, err := run(t, retry.Retry(c.model, c.policy))
			if c.model.calls != c.calls || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %d calls, error %v", name, c.model.calls, err)
			}
			var p *llm.ProviderError
			if name != "not a provider" && (!errors.As(err, &p) || fika.KindOf(err) != fika.Provider) {
				t.Errorf("%s: the cause is lost: %v", name, err)
			}
		})
	}
}

func TestRetryStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		f := model(fails(500, 0, "text"))
		_, err := retry.Retry(f, retry.Policy{}).Generate(t.Context(), llm.Request{}, func(llm.Event) error { return enough })
		if err != enough || f.calls != 1 {
			t.Errorf("emit's error: %v after %d calls", err, f.calls)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		f = model(fails(429, 10*time.Second, ""))
		_, err = retry.Retry(f, retry.Policy{}).Generate(ctx, llm.Request{}, func(llm.Event) error { return nil })
		if fika.KindOf(err) != fika.Interrupted || f.calls != 1 {
			t.Errorf("cancelled while waiting: %v after %d calls", err, f.calls)
		}
	})
}

// slow emits an Alive and a text every gap, n times, then says nothing more.
func slow(gap time.Duration, n int) attempt {
	return func(ctx context.Context, emit func(llm.Event) error) (llm.Response, error) {
		for range n {
			time.Sleep(gap)
			if err := emit(llm.Event{Kind: llm.Alive}); err != nil {
				return llm.Response{}, err
			}
		}
		<-ctx.Done()
		return llm.Response{}, fika.Wrap(fika.Interrupted, "model call", context.Cause(ctx))
	}
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, events, err := run(t, retry.IdleTimeout(model(slow(80*time.Second, 3)), 90*time.Second))
		var p *llm.ProviderError
		if !errors.As(err, &p) || p.Status != 0 || !strings.Contains(err.Error(), "no data for 1m30s") {
			t.Errorf("error is %v", err)
		}
		if took := time.Since(begin); took != 330*time.Second || len(events) != 0 {
			t.Errorf("took %v, events %v", took, events)
		}
		if res, _, err := run(t, retry.IdleTimeout(model(says("hi")), time.Second)); err != nil || res.Text != "hi" {
			t.Errorf("a prompt answer: %+v, %v", res, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := retry.IdleTimeout(model(slow(0, 0)), time.Minute).Generate(ctx, llm.Request{}, nil); fika.KindOf(err) != fika.Interrupted {
			t.Errorf("the caller's own end: %v", err)
		}
	})
}

// A consumer that takes its time is not the provider's silence.
func TestIdleWaitsForConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := retry.IdleTimeout(model(says("hi")), time.Second)
		_, err := m.Generate(t.Context(), llm.Request{}, func(llm.Event) error {
			time.Sleep(time.Minute)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A cost that is not known stays unknown, and what the provider states is believed. Trial
// row U3.
func TestCost(t *testing.T) {
	price := func(u fika.Usage) (int64, bool) { return u.Input + 2*u.Output, true }
	unknown := func(fika.Usage) (int64, bool) { return 0, false }
	stated := model(func(context.Context, func(llm.Event) error) (llm.Response, error) {
		return llm.Response{Usage: fika.Usage{Input: 9, Cost: 7}}, nil
	})
	for name, c := range map[string]struct {
		model *fake
		cost  func(fika.Usage) (int64, bool)
		want  fika.Usage
	}{
		"priced":  {model(says("hi")), price, fika.Usage{Input: 1000, Output: 10, Cached: 400, Cost: 1020}},
		"unknown": {model(says("hi")), unknown, fika.Usage{Input: 1000, Output: 10, Cached: 400, Unpriced: true}},
		"stated":  {stated, unknown, fika.Usage{Input: 9, Cost: 7}},
	} {
		if res, _, err := run(t, retry.FillCost(c.model, c.cost)); err != nil || res.Usage != c.want {
			t.Errorf("%s: %+v, %v", name, res.Usage, err)
		}
	}
}
