package cli_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAHomeOfTheFirstFormOpens: testdata/home/first.tar.gz was made by the
// first fika, with a chat that is paused, agents, a reflection that all of them
// wrote, and the coffee table of its time.
func TestAHomeOfTheFirstFormOpens(t *testing.T) {
	h := newHome(t, "")
	if out, err := exec.Command("tar", "xzf", "testdata/home/first.tar.gz", "-C", h.dir, "--no-overwrite-dir").CombinedOutput(); err != nil {
		t.Skipf("no tar that can unpack it: %v: %s", err, out)
	}
	_, stderr := h.run(4, "chat", "view", "design")
	has(t, "looking", stderr, "fika up", "look change nothing")
	has(t, "what is different", stderr, "made by an older fika", "the plugin coffee-table is that of an older fika")
	h.run(0, "chat", "create", "other") // migrates
	stdout, _ := h.run(0, "chat", "view", "design")
	has(t, "the chat", stdout, "|ann|@arya sketch an API", "|arya|Done. @gendry, attack it.", "|gendry|noted", "@gendry held")
	if _, stderr = h.run(0, "context", "log"); strings.Contains(stderr, "older fika") {
		t.Errorf("it is said twice: %s", stderr)
	}
	_, stderr = h.run(0, "run", "hello there")
	has(t, "a prompt", stderr, "prompts/reflection.md")
	stdout, _ = h.run(0, "doctor")
	if strings.Contains(stdout, "problem") {
		t.Errorf("doctor says\n%s", stdout)
	}
	t.Cleanup(func() { h.run(0, "down") })
	h.run(0, "chat", "resume", "design")
	h.run(0, "chat", "wait", "design")
	stdout, _ = h.run(0, "chat", "view", "design")
	if strings.Count(stdout, "|gendry|noted") != 2 {
		t.Errorf("what was held was not answered once:\n%s", stdout)
	}
	h.run(0, "plugin", "remove", "coffee-table")
	h.run(0, "plugin", "install", "coffee-table")
	if !eventually(func() bool {
		stdout, _ = h.run(0, "context", "log", "coffee-table")
		return strings.Contains(stdout, "soup is ready")
	}) {
		t.Errorf("what lay in the inbox of the table is not there:\n%s", stdout)
	}
}
