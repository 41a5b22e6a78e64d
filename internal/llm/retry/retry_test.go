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
			{Kind: llm.Retrying, After: 250 * time.Millisecond, Reason: "trouble"},
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

func TestCost(t *testing.T) {
	p := retry.Prices{Input: 3, Output: 15, Cached: 0.3}
	res, _, err := run(t, retry.FillCost(model(says("hi")), p))
	if err != nil || res.Usage.Cost != 600*3+120+150 {
		t.Errorf("cost is %d, error %v", res.Usage.Cost, err)
	}
	if got := (retry.Prices{Input: 2}).Of(fika.Usage{Input: 10, Cached: 4}); got != 20 {
		t.Errorf("without a price for cached input: %d", got)
	}
	stated := model(func(context.Context, func(llm.Event) error) (llm.Response, error) {
		return llm.Response{Usage: fika.Usage{Input: 9, Cost: 7}}, nil
	})
	if res, _, _ := run(t, retry.FillCost(stated, p)); res.Usage.Cost != 7 {
		t.Errorf("the provider's own cost became %d", res.Usage.Cost)
	}
}

func TestCap(t *testing.T) {
	f := model(func(_ context.Context, emit func(llm.Event) error) (llm.Response, error) {
		for {
			if err := emit(llm.Event{Kind: llm.TextDelta, Text: strings.Repeat("x", 1<<16)}); err != nil {
				return llm.Response{}, err
			}
		}
	})
	_, events, err := run(t, retry.Retry(retry.CapLength(f, 0), retry.Policy{}))
	if fika.KindOf(err) != fika.Limit || len(events) != retry.DefaultCap>>16 || f.calls != 1 {
		t.Errorf("error %v after %d events and %d calls", err, len(events), f.calls)
	}
}
