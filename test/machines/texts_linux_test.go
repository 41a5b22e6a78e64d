package machines

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// text returns what a file of an agent's context says on the host; "" if it is not there.
func (h *host) text(agent, file string) string {
	data, _ := os.ReadFile(filepath.Join(h.home, "contexts", agent, file))
	return string(data)
}

// TestSharedTexts: what is written in the texts of an agent on one host is in their files on
// the others; of what is written on two hosts at once nothing is lost, and all hosts name it.
func TestSharedTexts(t *testing.T) {
	l := newLab(t, 2, "[[agents]]\nid = \"pair\"\nwake = true\nrun_on = [\"h1\", \"h2\"]\n[[agents]]\nid = \"twin\"\n")
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("up")
	h1.must("ask", "pair", "hello")
	h1.must("ask", "twin", "hello")
	h1.write("contexts/pair/goals.md", "ship it\n")
	h1.write("contexts/twin/goals.md", "of h1\n")
	h2.run(h2.home, "up") // it says that twin is h1's
	l.until("the goals are on h2", func() bool { return h2.text("pair", "goals.md") == "ship it\n" })

	h2.write("contexts/pair/summary.md", strings.Repeat("too much\n", 1<<20)) // which keeps no other back
	h2.write("contexts/pair/todos.md", "- of h2\n")
	l.until("the todos are on h1", func() bool { return h1.text("pair", "todos.md") == "- of h2\n" })
	check(t, os.Remove(filepath.Join(h2.home, "contexts", "pair", "summary.md")))
	check(t, os.Remove(filepath.Join(h2.home, "contexts", "pair", "goals.md")))
	l.until("no goals are left on h1", func() bool { return h1.text("pair", "goals.md") == "" })
	if got := h2.text("twin", "goals.md"); got != "" {
		t.Errorf("an agent that is not for several hosts: h2 has %q", got)
	}

	h2.signalAll(syscall.SIGSTOP)
	h1.write("contexts/pair/reflection.md", "h1 has learned\n")
	l.until("the database has it", func() bool {
		return len(l.find(`SELECT 'x' FROM texts WHERE kind = 'reflection' AND convert_from(body, 'UTF8') LIKE 'h1 has learned%'`)) > 0
	})
	h2.write("contexts/pair/reflection.md", "h2 has learned\n")
	h2.signalAll(syscall.SIGCONT)
	kept := func() string {
		found, _ := filepath.Glob(filepath.Join(h2.home, "contexts", "pair", "reflection.md.conflict-*"))
		if len(found) != 1 {
			return ""
		}
		return found[0]
	}
	l.until("h2's text is kept", func() bool { return kept() != "" })
	if data, err := os.ReadFile(kept()); string(data) != "h2 has learned\n" {
		t.Errorf("kept: %q, %v", data, err)
	}
	l.until("h2 has h1's text", func() bool { return h2.text("pair", "reflection.md") == "h1 has learned\n" })
	const named = "reflection.md of @pair was changed on two hosts at once"
	l.until("h1 names the conflict", func() bool {
		out, _ := h1.run(h1.home, "doctor")
		return strings.Contains(out, named) && strings.Contains(out, kept())
	})
	check(t, os.Remove(kept()))
	l.until("nothing names it any more", func() bool { out, _ := h1.run(h1.home, "doctor"); return !strings.Contains(out, named) })

	h1.must("down")
	h1.write("contexts/pair/summary.md", "while h1 was down\n")
	h2.write("contexts/pair/todos.md", "- more of h2\n")
	l.until("the database has the todos", func() bool {
		return len(l.find(`SELECT 'x' FROM texts WHERE kind = 'todos' AND convert_from(body, 'UTF8') LIKE '- more of h2%'`)) > 0
	})
	h1.must("up")
	l.until("both have both", func() bool {
		return h1.text("pair", "todos.md") == "- more of h2\n" && h2.text("pair", "summary.md") == "while h1 was down\n"
	})
}
