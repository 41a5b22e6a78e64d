package bound_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/bound"
)

var limits = bound.Limits{Calls: 128, Bytes: 8 << 20, Silent: 15 * time.Minute, Total: 2 * time.Hour}

// modelFunc is a model of one function.
type modelFunc func(ctx context.Context, emit func(llm.Event) error) (llm.Response, error)

func (f modelFunc) Generate(ctx context.Context, _ llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	return f(ctx, emit)
}

// endless emits an event of a kind each second until the call is cancelled.
func endless(e llm.Event) modelFunc {
	return func(ctx context.Context, emit func(llm.Event) error) (llm.Response, error) {
		for {
			select {
			case <-ctx.Done():
				return llm.Response{}, ctx.Err()
			case <-time.After(time.Second):
			}
			if err := emit(e); err != nil {
				return llm.Response{}, err
			}
		}
	}
}

// Whatever a server floods a turn with ends by a limit that names its setting. Trial row S17.
func TestFloodsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		event llm.Event
		after time.Duration
		want  string
	}{
		"signs of life":     {llm.Event{Kind: llm.KeepAlive}, 15 * time.Minute, "max_silent"},
		"signatures":        {llm.Event{Kind: llm.Alive}, 2 * time.Hour, "max_time"},
		"arguments":         {llm.Event{Kind: llm.Alive, Size: 1 << 20}, 9 * time.Second, "max_bytes"},
		"text, bit by bit":  {llm.Event{Kind: llm.TextDelta, Text: "x"}, 2 * time.Hour, "max_time"},
		"much text at once": {llm.Event{Kind: llm.TextDelta, Text: strings.Repeat("x", 1<<20)}, 9 * time.Second, "max_bytes"},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			_, err := bound.Model(endless(c.event), limits).Generate(t.Context(), llm.Request{}, func(llm.Event) error { return nil })
			if took := time.Since(begin); !fika.IsKind(err, fika.Limit) || !strings.Contains(err.Error(), c.want) || took != c.after {
				t.Errorf("%s: %v after %s", name, err, took)
			}
		})
	}
}

// An answer with more calls than are allowed has none that can run, but its usage counts.
func TestTooManyCallsAreNotRun(t *testing.T) {
	flood := modelFunc(func(context.Context, func(llm.Event) error) (llm.Response, error) {
		return llm.Response{Calls: make([]llm.Call, 5000), Blob: []byte("{}"), Usage: fika.Usage{Output: 9}}, nil
	})
	res, err := bound.Model(flood, limits).Generate(t.Context(), llm.Request{}, nil)
	if err != nil || res.Stop != llm.StopFlood || len(res.Calls)+len(res.Blob) > 0 || res.Usage.Output != 9 || !strings.Contains(res.StopText, "max_tool_calls") {
		t.Errorf("%+v, %v", res, err)
	}
}

// A cancelled call stays what it is.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bound.Model(endless(llm.Event{}), limits).Generate(ctx, llm.Request{}, nil); fika.KindOf(err) != fika.Interrupted {
		t.Error(err)
	}
}
