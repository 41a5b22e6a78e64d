package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fika"
	"fika/internal/system/process"
)

// TestA8YoursIsNext: whoever asks an agent that works on something else is told
// so, and that it comes next.
func TestA8YoursIsNext(t *testing.T) {
	t.Parallel()
	h := newHome(t, sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"long\"\nstall = true\n[[rule]]\nmatch = \".*\"\nreply = \"short\"\n")
	t.Cleanup(func() { h.run(0, "down") })
	first, _ := h.run(0, "task", "--no-wait", "coder", "a long one")
	if !eventually(func() bool {
		out, _ := h.run(0, "request", "list", "--state", "running")
		return strings.Contains(out, "coder")
	}) {
		t.Fatal("the task did not begin")
	}
	shown := h.dialogue([][2]string{
		{"/help", "hello\r"}, {"yours is next", "/why\r"}, {"waiting: @coder", ""},
		{"works in task_", "@reviewer hello\r"}, {"short", "/quit\r"},
	})
	if !regexp.MustCompile(`coder yours is next; works in task_coder_`).MatchString(shown) {
		t.Errorf("the status line is in\n%s", shown)
	}
	ask := h.start("ask", "coder", "and I?")
	ask.says(t, "; yours is next)")
	has(t, "ask", ask.err.String(), "(@coder works on a task first (task_coder_")
	if err := ask.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := ask.wait(t); got != 130 {
		t.Errorf("exit status %d\n%s", got, &ask.err)
	}
	h.run(0, "request", "cancel", strings.TrimSpace(first))
}

// TestE6SessionRevivesHub: a hub that is killed under an open session is
// started again, which is told, and what was said meanwhile is answered.
func TestE6SessionRevivesHub(t *testing.T) {
	t.Parallel()
	h := newHome(t, sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"one\"\nreply = \"first answer\"\n[[rule]]\nmatch = \"two\"\nreply = \"second answer\"\n")
	t.Cleanup(func() { h.run(0, "down") })
	typing := func(text string) func(*terminal) string { return func(*terminal) string { return text } }
	shown := seen(h.scene([]act{
		{"/help", typing("one\r")},
		{"first answer", func(*terminal) string {
			var p fika.Process
			lock, err := os.ReadFile(filepath.Join(h.dir, "run", "hub.lock"))
			if err == nil {
				err = json.Unmarshal(lock, &p)
			}
			if err == nil {
				err = process.Kill(p)
			}
			if err != nil {
				t.Error(err)
			}
			return ""
		}},
		{"the hub had stopped; restarted it", typing("two\r")}, {"second answer\n", typing("/quit\r")},
	}))
	if !strings.Contains(shown, "coder\n  second answer\n") {
		t.Errorf("it shows\n%s", shown)
	}
}
