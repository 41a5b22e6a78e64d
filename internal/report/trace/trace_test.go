package trace_test

import (
	"fmt"
	"testing"
	"time"

	"fika"
	"fika/internal/report/trace"
	"fika/internal/store"
)

func TestOf(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	request := func(id, parent string, created, begun, ended int, steps ...store.TracedStep) store.Traced {
		r := store.Traced{Steps: steps}
		r.ID, r.Parent, r.CreatedAt, r.StartedAt, r.FinishedAt, r.State = fika.RequestID(id), fika.RequestID(parent), at(created), at(begun), at(ended), fika.Done
		return r
	}
	used := fika.Usage{Input: 10, Output: 2, Cost: 7}
	got := trace.SpansOf([]store.Traced{
		request("lead", "", 0, 100, 5000,
			store.TracedStep{N: 1, Kind: fika.ModelStep, Model: "m", StartedAt: at(110), FinishedAt: at(1110), Usage: used},
			store.TracedStep{N: 2, Kind: fika.ToolStep, Tool: "delegate", StartedAt: at(1120), FinishedAt: at(3120)},
			store.TracedStep{N: 3, Kind: fika.ModelStep, Model: "m", StartedAt: at(4500), FinishedAt: at(4990), Usage: used}),
		request("other", "elsewhere", 200, 200, 300),
		request("helper", "lead", 1120, 1130, 3100, store.TracedStep{N: 1, StartedAt: at(3000), FinishedAt: at(3000), Usage: used}),
	}, at(9000))
	want := "lead 0: wait 100ms, commit 10ms, model 1s, commit 10ms, tool 2s, wait 1.38s, model 490ms, commit 10ms; " +
		"helper 1: wait 10ms, wait 1.87s, model 0s, commit 100ms; other 0: wait 0s, commit 100ms; "
	text := ""
	for _, r := range got.Requests {
		text += fmt.Sprintf("%s %d:", r.ID, r.Level)
		for i, s := range r.Spans {
			if i > 0 {
				text += ","
			}
			text += fmt.Sprintf(" %s %s", s.Kind, s.Took)
		}
		text += "; "
	}
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if got.Usage != (fika.Usage{Input: 30, Output: 6, Cost: 21}) || !got.Start.Equal(start) || !got.End.Equal(at(5000)) {
		t.Errorf("got %+v from %s to %s", got.Usage, got.Start, got.End)
	}
}

// What goes on has no end yet, and what waits has not begun.
func TestOfWhatGoesOn(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	running, open := store.Traced{}, store.Traced{}
	running.ID, running.State, running.CreatedAt, running.StartedAt = "r", fika.Running, start, start
	running.Steps = []store.TracedStep{{N: 1, Kind: fika.ToolStep, Tool: "bash", StartedAt: start}}
	open.ID, open.State, open.CreatedAt = "o", fika.Open, start
	got := trace.SpansOf([]store.Traced{running, open}, start.Add(time.Minute))
	for i, kind := range []trace.Kind{trace.Tool, trace.Wait} {
		spans := got.Requests[i].Spans
		if last := spans[len(spans)-1]; last.Kind != kind || !last.Open || last.Took != time.Minute {
			t.Errorf("got %+v", spans)
		}
	}
}
