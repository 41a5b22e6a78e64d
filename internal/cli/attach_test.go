package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttachInTheMiddle: whoever attaches to an agent in the middle of an answer is shown
// what it has said so far, and of a turn in a chat what called it.
func TestAttachInTheMiddle(t *testing.T) {
	t.Parallel()
	h := newHome(t, "model = \"scripted\"\n[[agents]]\nid = \"coder\"\n")
	h.write("rules.toml", "[[rule]]\nmatch = \"tell\"\nreply = \"I begin with the parser.\"\nstall = true\n")
	t.Cleanup(func() { h.run(0, "down", "--now") })
	h.run(0, "chat", "create", "room")
	h.run(0, "chat", "send", "room", "@coder tell me")
	log := filepath.Join(h.dir, "run", "logs", "coder.log")
	if !eventually(func() bool {
		text, _ := os.ReadFile(log)
		return strings.Contains(string(text), "parser.")
	}) {
		t.Fatal("the agent never began to answer")
	}
	p := h.start("agent", "attach", "coder")
	if !eventually(func() bool { return strings.Contains(p.out.String(), "I begin with the parser.") }) {
		t.Fatalf("attached:\n%s%s", &p.out, &p.err)
	}
	out, _ := h.run(0, "request", "list")
	if !strings.Contains(out, "(room) user: @coder tell me") {
		t.Errorf("the requests:\n%s", out)
	}
}
