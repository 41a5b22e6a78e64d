package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// ask publishes a request to a team.
func (f *foreign) ask(body string) {
	f.h.Helper()
	f.h.ok(f.nc.Publish(f.prefix+".agent.workflow.request", []byte(body)))
	f.h.ok(f.nc.Flush())
}

// answer waits for what a team is answered under an id.
func (f *foreign) answer(id string) (w wireMessage) {
	f.h.Helper()
	for deadline := time.Now().Add(patience); ; {
		m, err := f.all.NextMsg(time.Until(deadline))
		f.h.ok(err)
		if m.Subject == f.prefix+".agent.workflow.response" && json.Unmarshal(m.Data, &w) == nil && w.RequestID == id {
			return w
		}
	}
}

// TestTeamOverTheBus: a program asks a team as a person does, once however often it
// repeats the request, and hears what is wrong with one.
func TestTeamOverTheBus(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder, "id = \"reviewer\"")
	h.must("up")
	f := h.foreign(h.must("status", "--show-bus"), "fika")
	const chain = `{"type": "task_request", "requestId": "team-1", "team": "coder -> reviewer", "prompt": "hello", "metadata": {"sender": "build"}}`
	f.ask(chain)
	f.ask(chain)
	w := f.answer("team-1")
	if w.Status != "completed" || w.AgentName != "workflow" || strings.Count(w.Result.Content, "you said") != 2 {
		t.Errorf("a chain: %+v", w)
	}
	if u := w.Result.TokensUsed; u["input"] == 0 || u["output"] == 0 { // those of both agents
		t.Errorf("tokens: %+v", u)
	}
	if out := h.must("workflow", "list", "--runs"); strings.Count(out, "coder") != 1 {
		t.Errorf("runs: %s", out)
	}
	f.ask(strings.Replace(chain, "hello", "something else", 1))
	if w := f.answer("team-1"); w.Type != "rejected" && w.Status != "completed" { // the first of the two may be announced again before
		t.Errorf("the same id for something else: %+v", w)
	}
	f.ask(`{"type": "task_request", "requestId": "team-2", "team": "coder, reviewer", "combine": "coder", "prompt": "hello"}`)
	if w := f.answer("team-2"); w.Status != "completed" || !strings.Contains(w.Result.Content, "hello") {
		t.Errorf("combined: %+v", w)
	}
	for id, c := range map[string]struct{ body, wants string }{
		"bad-1": {`{"type": "task_request", "requestId": "bad-1", "prompt": "hello"}`, "team is missing"},
		"bad-2": {`{"type": "task_request", "requestId": "bad-2", "team": "codr, reviewer", "prompt": "hello"}`, `agent "codr" not found; did you mean "coder"?`},
		"bad-3": {`{"type": "task_request", "requestId": "bad-3", "team": "coder > reviewer ->", "prompt": "hello"}`, "is not understood"},
	} {
		f.ask(c.body)
		if w := f.answer(id); w.Status != "failed" || !strings.Contains(w.Error, c.wants) {
			t.Errorf("%s: %+v", c.body, w)
		}
	}
}
