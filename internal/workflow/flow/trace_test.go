package flow_test

import (
	"testing"

	"fika"
	"fika/internal/report/trace"
)

// TestTraceOfARun: the sums in a run's trace equal those in the ledger and the run's
// own counts, and each chain in the run is found by its root.
func TestTraceOfARun(t *testing.T) {
	onEngines(t, func(w *world) {
		w.work(w.start("[[steps]]\nid='other'\nagent='c'\nprompt='something else'\n", nil))
		run := w.start("[[steps]]\nid='each'\nagent='a'\nfor_each='1..24'\nmax_parallel=4\nprompt='{{.item}}'\n[[steps]]\nid='next'\nneeds=['each']\nagent='b'\nfor_each='1..26'\nprompt='{{.item}}'\n", nil)
		r := w.work(run)
		w.want("state", r.State, fika.Done)
		list := must(w.store.OfRun(w.Context(), run))(w)
		got := trace.SpansOf(must(w.store.Trace(w.Context(), list))(w), w.clock.Now())
		w.want("turns", r.Spent.Turns, 50)
		w.want("usage", got.Usage, fika.Usage{Input: 500, Output: 50, Cost: 50_000})
		w.want("tokens", r.Spent.Tokens, 550)
		for _, one := range list {
			if one.Kind != fika.TaskRequest {
				continue
			}
			chain := must(w.store.OfChain(w.Context(), one.Chain))(w)
			if len(chain) != 1 || chain[0].ID != one.ID {
				t.Fatalf("the chain of %s: %v", one.ID, chain)
			}
		}
	})
}
