package worker

import (
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

// An agent is told of its colleagues in the part of the request that
// stays, and of how they are in the part that passes.
func TestB8ColleaguesStandInTheStablePart(t *testing.T) {
	x := sit(t, "")
	x.configure("[[agents]]\nid = \"coder\"\ndescription = \"writes Go\"\n[[agents]]\nid = \"tester\"\ncapabilities = [\"go\"]\n")
	coder, err := x.runtime.peers().creator().ensureRow(t.Context(), "coder")
	x.must(err)
	ask := func() {
		t.Helper()
		c, err := x.runtime.begin(t.Context(), RunOptions{Who: person, Prompt: "hi"})
		x.must(err)
		_, err = turn.New(x.runtime.turnConfig(c, x.worker.Settings, []llm.Model{x.model}, nil, turn.ObserverFunc(func(turn.Event) {}))).Run(t.Context(), c)
		x.must(err)
	}
	ask()
	l, err := x.worker.Store.Acquire(t.Context(), coder.ID, "test", time.Hour, false)
	x.must(err)
	_, err = x.worker.Store.Begin(t.Context(), l, store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Agent: coder.ID, Payload: fika.Payload{Prompt: "work"}})
	x.must(err)
	ask()
	first, second := x.model.requests[0], x.model.requests[1]
	if want := "Agents you can reach with send_message:\n@coder: writes Go\n@tester (go)"; !strings.Contains(first.System, want) || first.System != second.System {
		t.Errorf("first %q\nthen %q", first.System, second.System)
	}
	if last := first.Messages[len(first.Messages)-1].Text; strings.Contains(last, "COLLEAGUES NOW") {
		t.Errorf("nobody is busy: %q", last)
	}
	if last := second.Messages[len(second.Messages)-1].Text; !strings.Contains(last, "--- COLLEAGUES NOW ---\n@coder is busy.") {
		t.Errorf("coder is busy: %q", last)
	}
}

// Whoever can reach nobody is told of nobody.
func TestB8WithoutToolsNobodyIsNamed(t *testing.T) {
	x := sit(t, "")
	x.configure("[[agents]]\nid = \"coder\"\n")
	none := newTeam(x.app, x.worker.Store, "me", func(string) bool { return false })
	_, standing, err := none.company(t.Context(), "")
	x.must(err)
	if text := none.block() + standing; text != "" {
		t.Errorf("got %q", text)
	}
	if text := ColleaguesBlock(x.app, "coder", nil); text != "" {
		t.Errorf("it is its own colleague: %q", text)
	}
}
