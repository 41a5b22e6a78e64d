package e2e

import (
	"strings"
	"testing"

	"fika"
	"fika/internal/store"
)

// TestMasterPiped: lines are worked, answers are waited for and shown with
// their requests, and one that failed makes the exit status 1.
func TestMasterPiped(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "[master]\ndefault_agent = \"coder\"\n", autoCoder, lazy)
	r := h.runIn("@coder:task: slow\n@lazy: hello\nplain words\n\n", "master")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for _, want := range []string{
		"Master mode initialized\n", "Auto-starting agents: coder\n✓ @coder started (pid: ", "Ready for commands (type /help for help)\n",
		"→ Sent task to @coder", "→ Sent to @lazy", ": slow\nfinally\n", ": hello\nyou said hello\n", ": plain words\nyou said plain words\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	r = h.runIn("@coder: wrong key\n", "master")
	if r.code != 1 || !strings.Contains(r.stdout, "✗ @coder failed: ") || !strings.Contains(r.stdout, "invalid api key") {
		t.Errorf("exit %d\n%s", r.code, r.stdout)
	}
	if r = h.runIn("@coder:task: hello\n", "--master", "--quiet"); r.code != 0 || r.stdout != "✓ @coder completed\n" {
		t.Errorf("--quiet: exit %d %q", r.code, r.stdout)
	}
	r = h.runIn("@codr: hello\n@coder:tsak: hello\n/dance\n", "master")
	for _, want := range []string{`did you mean "coder"`, "@coder:task:", "/help"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if r.code != 1 {
		t.Errorf("exit %d", r.code)
	}
}

// TestMasterManages: the commands about agents and conversations.
func TestMasterManages(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder, lazy)
	h.must("up")
	h.must("ask", "coder", "one")
	h.must("task", "coder", "two")
	old := string(h.conversation(h.row("coder").ActiveAsk))
	r := h.runIn("/agents stop coder\n", "master")
	if !strings.Contains(r.stdout, "Stopping agent 'coder'...\n✓ Stopped gracefully\n") {
		t.Errorf("stop:\n%s%s", r.stdout, r.stderr)
	}
	r = h.runIn("/agents start coder\n", "master")
	if !strings.Contains(r.stdout, "Starting agent 'coder'...\n✓ Started (pid: ") {
		t.Errorf("start:\n%s%s", r.stdout, r.stderr)
	}
	r = h.runIn("/agents list\n/agents health\n/conversations coder\n/tasks\n/usage\n/help\n@coder:reset\n/switch coder "+old+"\n", "master")
	for _, want := range []string{
		"│ Agent ", "│ coder ", "All agents healthy (1/2 running)", old + " *", "task_coder_", "@agent:task: PROMPT",
		"✓ @coder conversation context reset", "✓ @coder continues with " + old,
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if r.code != 0 || string(h.conversation(h.row("coder").ActiveAsk)) != old {
		t.Errorf("exit %d", r.code)
	}
}

// TestMasterKilled: what a console sent goes on without it, and its answer is
// kept; a piped console leaves it alone.
func TestMasterKilled(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	p := h.start("@coder:task: slow\n", "master")
	var id fika.RequestID
	h.until("a request", func() bool {
		list, err := h.store().ListRequests(t.Context(), store.RequestFilter{})
		h.ok(err)
		if len(list) > 0 {
			id = list[0].ID
		}
		return len(list) > 0
	})
	h.ok(p.cmd.Process.Kill())
	<-p.ended
	h.untilState(string(id), fika.Done)
	if got := h.must("request", "wait", string(id)); got != "finally" {
		t.Errorf("its answer is %q", got)
	}
	if r := h.runIn("", "master"); r.code != 0 || strings.Contains(r.stdout, "finally") {
		t.Errorf("exit %d\n%s", r.code, r.stdout)
	}
}

// TestMasterAlone: without agents plain text is worked here, in the current
// context.
func TestMasterAlone(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "")
	r := h.runIn("hello there\nand again\n", "master")
	if r.code != 0 || !strings.Contains(r.stdout, "you said hello there\n") || !strings.Contains(r.stdout, "you said and again\n") {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	h.gone("") // it started nothing
	if got := h.must("conversation", "search", "again"); !strings.Contains(got, "again") {
		t.Errorf("search: %s", got)
	}
}
