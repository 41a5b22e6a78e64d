package trace_test

import (
	"testing"
	"time"

	"fika"
	"fika/internal/report/trace"
	"fika/internal/store"
)

// TestL15Profile: percentiles and sums by agent, of what has ended.
func TestL15Profile(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	var p trace.Profile
	for i := range 100 {
		r := store.Traced{}
		r.AgentName, r.State, r.CreatedAt = "coder", fika.Done, start
		r.StartedAt = start.Add(time.Duration(i+1) * time.Millisecond)
		r.FinishedAt = r.StartedAt.Add(2 * time.Second)
		r.Steps = []store.TracedStep{{N: 1, Kind: fika.ModelStep, Model: "m", StartedAt: r.StartedAt, FinishedAt: r.StartedAt.Add(2 * time.Second), Usage: fika.Usage{Input: 3, Cost: 2}}}
		p.Add([]store.Traced{r}, start.Add(time.Hour))
	}
	open := store.Traced{}
	open.AgentName, open.State, open.CreatedAt, open.StartedAt = "tester", fika.Running, start, start
	open.Steps = []store.TracedStep{{N: 1, Kind: fika.ToolStep, Tool: "bash", StartedAt: start}}
	p.Add([]store.Traced{open}, start.Add(time.Hour))
	got := p.Agents()
	if len(got) != 2 || got[0].Agent != "coder" || got[0].Requests != 100 || got[0].Usage != (fika.Usage{Input: 300, Cost: 200}) {
		t.Fatalf("%+v", got)
	}
	if w := got[0].Spans[trace.Wait]; w != (trace.Durations{N: 100, P50: 50 * time.Millisecond, P95: 95 * time.Millisecond, Sum: 5050 * time.Millisecond}) {
		t.Errorf("wait %+v", w)
	}
	if m := got[0].Spans[trace.Model]; m.P95 != 2*time.Second || m.Sum != 200*time.Second {
		t.Errorf("model %+v", m)
	}
	if _, there := got[1].Spans[trace.Tool]; there || got[1].Requests != 1 {
		t.Errorf("what continues is told as if it had ended: %+v", got[1])
	}
}
