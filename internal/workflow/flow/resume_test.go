package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

// ten returns a workflow of ten steps, each after the one before.
func ten() string {
	var b strings.Builder
	for i := 1; i <= 10; i++ {
		fmt.Fprintf(&b, "[[steps]]\nid='s%d'\nagent='a'\nprompt='step %d'\n", i, i)
		if i > 1 {
			fmt.Fprintf(&b, "needs=['s%d']\n", i-1)
		}
	}
	return b.String()
}

func (w *world) resume(run fika.RequestID, now *workflow.Definition, from string) {
	w.Helper()
	before := must(w.store.Run(w.Context(), run))(w)
	text, _, _, err := w.store.Definition(w.Context(), run)
	w.ok(err)
	old := must(workflow.Thaw(text))(w)
	n := store.Resumption{Version: before.Version}
	if now == nil {
		now = old
	} else {
		n.Definition = must(now.Freeze())(w)
	}
	n.Rows = must(workflow.ResumeRows(string(run), old, now, must(w.store.Resumable(w.Context(), run))(w), from))(w)
	r := must(w.store.ResumeRun(w.Context(), run, n))(w)
	w.want("the same run", r.ID, run)
	w.want("another request", r.Request != before.Request, true)
	w.want("the outcome of the old one stays", must(w.store.Request(w.Context(), before.Request))(w).State, before.State)
	if _, err := w.store.ResumeRun(w.Context(), run, n); !fika.IsKind(err, fika.Conflict) {
		w.Errorf("resumed twice: %v", err)
	}
}

// TestResume: step 7 of 10 fails, and resuming repeats steps 7 to 10.
func TestResume(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start(ten(), nil)
		broken := true
		w.answer = func(_ fika.AgentName, prompt string) (string, error) {
			if broken && prompt == "step 7" {
				return "", errors.New("no key")
			}
			return "ok", nil
		}
		w.want("state", w.work(run).State, fika.RequestFailed)
		broken, w.asked = false, nil
		w.resume(run, nil, "")
		w.want("due", w.due(w.Context()), []fika.RequestID{run})
		w.want("state", w.work(run).State, fika.Done)
		w.want("asked", w.asked, []string{"a: step 7", "a: step 8", "a: step 9", "a: step 10"})
		w.asked = nil
		w.resume(run, nil, "s9")
		w.want("state", w.work(run).State, fika.Done)
		w.want("asked", w.asked, []string{"a: step 9", "a: step 10"})
	})
}

// TestResumeItems: the items of a list that are done stay, even after a cancel, and a
// new definition applies from then on.
func TestResumeItems(t *testing.T) {
	onEngines(t, func(w *world) {
		text := "[[steps]]\nid='each'\nagent='a'\nfor_each='1..20'\nmax_parallel=4\nprompt='{{.item}}'\n[[steps]]\nid='end'\nneeds=['each']\nagent='b'\nprompt='%s {{len .steps.each.output}}'\n"
		run := w.start(fmt.Sprintf(text, "all"), nil)
		w.advance(run)
		for range 7 {
			w.end(w.claim("a"))
			w.advance(run)
		}
		_, _, err := w.store.StopRun(w.Context(), run, "enough")
		w.ok(err)
		w.want("state", w.advance(run).State, fika.Cancelled)
		w.asked = nil
		now := must(workflow.Load("test", "test.toml", fmt.Appendf(nil, text, "everything:"), workflow.Known{}))(w)
		w.resume(run, now, "")
		w.want("answer", w.work(run).Outcome.Answer, "b did: everything: 20")
		w.want("items asked again", len(w.askedOf("a")), 13)
	})
}

// TestCutDiscussion: a discussion cut short because its run was cancelled is not
// done, so resuming the run begins it anew.
func TestCutDiscussion(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='talk'\nchat={agents=['a','c'], topic='talk', max=4}\n", nil)
		w.advance(run)
		w.end(w.claim("a"))
		cut := w.claim("c")
		_, _, err := w.store.StopRun(w.Context(), run, "enough")
		w.ok(err)
		_, err = w.store.Finish(w.Context(), cut.Fence, store.Finish{State: fika.Cancelled, Reason: "told to"})
		w.ok(err)
		w.want("run", w.advance(run).State, fika.Cancelled)
		w.want("talk", w.steps(run)["talk"].State, workflow.Cancelled)
	})
}
