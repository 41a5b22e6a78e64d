package flow_test

import (
	"testing"

	"fika"
)

// TestChain: each step's output is handed on, the run ends with the output of the
// last, and nobody has to advance it any more.
func TestChain(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[inputs]\ngoal = {}\n[[steps]]\nid='one'\nagent='a'\nprompt='find {{.inputs.goal}}'\n[[steps]]\nid='two'\nneeds=['one']\nagent='b'\nprompt='build on {{.steps.one.output}}'\n", map[string]string{"goal": "it"})
		w.want("due", w.due(w.Context()), []fika.RequestID{run})
		r := w.work(run)
		w.want("state", r.State, fika.Done)
		w.want("answer", r.Outcome.Answer, "b did: build on a did: find it")
		w.want("asked", w.asked, []string{"a: find it", "b: build on a did: find it"})
		w.want("woken", w.woken, []string{"a", "b"})
		w.want("due", len(w.due(w.Context())), 0)
		w.want("spent", r.Spent.Turns, 2)
		w.want("tokens", r.Spent.Tokens, 22)
	})
}
