package machines

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// crashes are the points at which processes of the hosts of a lab are to die, once at each.
type crashes struct {
	*lab
	folder string // that the program obeys, on all hosts
	plan   map[string]int64
}

// crashing has the hosts run a program that dies where the test says.
func (l *lab) crashing() *crashes {
	l.Helper()
	c := &crashes{lab: l, folder: l.TempDir()}
	bin := buildChaos(l.T)
	for _, h := range l.hosts {
		h.bin, h.chaos = bin, c.folder
	}
	return c
}

// next has whichever process passes a point next die there, for each of some points, before
// and after its commit.
func (c *crashes) next(points ...string) {
	c.Helper()
	c.plan = map[string]int64{}
	text := ""
	for _, p := range points {
		c.plan[p] = c.passed(p) + 1
		text += fmt.Sprintf("%s %d kill\n", p, c.plan[p])
	}
	c.hosts[0].obey("plan", text)
}

// passed returns how often a point was passed.
func (c *crashes) passed(point string) int64 {
	st, err := os.Stat(filepath.Join(c.folder, "passed-"+point))
	if err != nil {
		return 0
	}
	return st.Size()
}

// struck reports whether a process has died at each of the points. Then, as before, hubs that
// are gone are started again.
func (c *crashes) struck(hosts ...*host) bool {
	all := true
	for p, n := range c.plan {
		all = all && c.passed(p) >= n
	}
	for _, h := range hosts {
		if len(h.processes("up --foreground")) == 0 {
			h.run(h.home, "up")
		}
	}
	return all
}

// ofHost returns the host that an agent is on.
func (c *crashes) ofHost(name string) string { return c.hosts[0].agents()[name].Host }

// TestCrashesOfMoves: whoever dies while an agent goes from one host to the other and back, or
// while its texts are shared, and wherever: it goes on when its hub is started again, with its
// texts, on one host.
func TestCrashesOfMoves(t *testing.T) {
	long(t)
	l := newLab(t, 2, "[[agents]]\nid = \"mover\"\nwake = true\nrun_on = [\"h1\", \"h2\"]\n")
	c := l.crashing()
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("up")
	h2.must("up")
	h1.must("ask", "mover", "hello")
	asks := 1
	for _, op := range []string{"move-to-host", "send-to-host", "take-at-host"} {
		for _, point := range []string{op + ".before", op + ".after"} {
			from, to := h1, h2
			if c.ofHost("mover") == "h2" {
				from, to = h2, h1
			}
			c.next(point)
			from.begin("agent", "move", "mover", to.name, "--leave-files")
			l.until("somebody dies at "+point, func() bool { return c.struck(h1, h2) })
			if op == "move-to-host" { // that was the command: it is given again
				from.must("agent", "move", "mover", to.name, "--leave-files")
			}
			l.until("the mover comes, "+point, func() bool { c.struck(h1, h2); return c.ofHost("mover") == to.name })
			l.until("it answers, "+point, func() bool { // once its host has said who may ask it
				got, code := from.run(from.home, "ask", "mover", "hello")
				return code == 0 && strings.HasSuffix(got, "hello from "+to.name)
			})
			asks++
			if left := l.find(`SELECT agent FROM moves`); len(left) > 0 {
				t.Errorf("%s: it is still to go: %v", point, left)
			}
		}
	}
	if n := len(l.find(`SELECT e.id FROM entries e JOIN agents a ON a.name = 'mover' JOIN requests r ON r.id = e.request AND r.agent = a.id WHERE e.content LIKE 'hello from %'`)); n != asks {
		t.Errorf("it was asked %d times and has answered %d times", asks, n)
	}

	at, other := h1, h2
	if c.ofHost("mover") == "h2" {
		at, other = h2, h1
	}
	check(t, os.MkdirAll(filepath.Join(at.home, "contexts", "mover", "workspace"), 0o700))
	at.write("contexts/mover/workspace/file", "of the mover\n")
	for _, point := range []string{"keep-at-host.before", "keep-at-host.after"} {
		c.next(point)
		at.begin("agent", "move", "mover", other.name)
		l.until("somebody dies at "+point, func() bool { return c.struck(h1, h2) })
		if out, code := other.run(other.home, "agent", "move", "mover", other.name); code == 0 || !strings.Contains(out, "contexts/mover/workspace would stay on "+at.name) {
			t.Errorf("%s: moved without its files: %s", point, out)
		}
		if got := other.must("ask", "mover", "hello"); !strings.HasSuffix(got, "hello from "+at.name) {
			t.Errorf("%s: it says %q", point, got)
		}
	}

	for i, point := range []string{"share-text.before", "share-text.after"} {
		text := fmt.Sprintf("goal %d\n", i)
		c.next(point)
		at.write("contexts/mover/goals.md", text)
		l.until("somebody dies at "+point, func() bool { return c.struck(h1, h2) })
		l.until("the text is on the other host, "+point, func() bool { return other.text("mover", "goals.md") == text })
		if got := at.text("mover", "goals.md"); got != text {
			t.Errorf("%s: where it was written, it says %q", point, got)
		}
	}
	for i, point := range []string{"set-conflicts-of-texts.before", "set-conflicts-of-texts.after"} {
		other.signalAll(syscall.SIGSTOP)
		at.write("contexts/mover/todos.md", fmt.Sprintf("todo %d here\n", i))
		l.until("the database has it", func() bool {
			return len(l.find(fmt.Sprintf(`SELECT 'x' FROM texts WHERE kind = 'todos' AND convert_from(body, 'UTF8') = E'todo %d here\n'`, i))) > 0
		})
		other.write("contexts/mover/todos.md", fmt.Sprintf("todo %d there\n", i))
		c.next(point)
		other.signalAll(syscall.SIGCONT)
		l.until("somebody dies at "+point, func() bool { return c.struck(h1, h2) })
		l.until("it is named, "+point, func() bool {
			out, _ := at.run(at.home, "doctor")
			return strings.Contains(out, "todos.md of @mover was changed on two hosts at once")
		})
		kept, _ := filepath.Glob(filepath.Join(other.home, "contexts", "mover", "todos.md.conflict-*"))
		if len(kept) != 1 {
			t.Fatalf("%s: kept are %v", point, kept)
		}
		if data, _ := os.ReadFile(kept[0]); string(data) != fmt.Sprintf("todo %d there\n", i) {
			t.Errorf("%s: kept is %q", point, data)
		}
		check(t, os.Remove(kept[0]))
		l.until("nothing is named any more", func() bool { return len(l.find(`SELECT path FROM text_conflicts`)) == 0 })
	}
}

// TestCrashesOfTakeovers: the whole of a host goes, with agents in the middle of tools. Whoever
// dies while other hosts go on with them, and wherever: each goes on on one host, is told once
// what is not there, runs no tool again, and each request has one answer.
func TestCrashesOfTakeovers(t *testing.T) {
	long(t)
	l := newLab(t, 3, "")
	c := l.crashing()
	h1, h2, h3 := l.hosts[0], l.hosts[1], l.hosts[2]
	remote := l.remote()
	names := []string{"k1", "k2", "k3", "roamer"}
	for _, h := range l.hosts {
		folder := filepath.Join(l.dir, "network")
		if h == h3 { // which must not go on
			folder = filepath.Join(l.dir, "h3", "network")
		}
		check(t, os.MkdirAll(folder, 0o755))
		h.clone(remote)
		h.add("rules.toml", "[[rule]]\nmatch = \"what these calls have changed in files since then is not here\"\nreply = \"it may have run\"\n")
		h.add("config.toml", "[[agents]]\nid = \"roamer\"\nwake = true\nworkspace_on = \"shared\"\nworkspace = \""+folder+"\"\n")
		for _, name := range names[:3] {
			if h != h3 {
				h.add("config.toml", "[[agents]]\nid = \""+name+"\"\nwake = true\nworkspace_on = \"git\"\nworkspace = \"worktree\"\n")
			}
		}
	}
	h1.must("up")
	h3.must("up")
	var answers []func() string
	for _, name := range names {
		answers = append(answers, h3.begin("ask", name, "once"))
	}
	once := func(h *host, name string) string {
		if name == "roamer" {
			return filepath.Join(l.dir, "network", "once")
		}
		return filepath.Join(h.home, "worktrees", name, "once")
	}
	l.until("all are in their tools", func() bool {
		return !slices.ContainsFunc(names, func(name string) bool { return lines(once(h1, name)) != 1 })
	})
	h1.kill()
	c.next("refuse-takeover.before", "refuse-takeover.after")
	l.until("h3 dies while it refuses", func() bool { return c.struck(h3) })
	l.until("it has said why", func() bool {
		return strings.Contains(h3.must("agent", "list", "--all"), "is not the shared folder in which @roamer has worked")
	})
	c.next("take-over.before", "take-over.after", "keep-workspace.before", "keep-workspace.after", "tell-of-files.before", "tell-of-files.after")
	l.until("somebody dies at each point", func() bool { return c.struck(h2, h3) })
	for i, name := range names {
		if got := answers[i](); !strings.HasSuffix(got, "it may have run") {
			t.Errorf("the request of %s ended with %q", name, got)
		}
		if got := c.hosts[2].agents()[name].Host; got != "h2" {
			t.Errorf("%s is on %q", name, got)
		}
		if n := lines(once(h2, name)); name == "roamer" && n != 1 || name != "roamer" && n != 0 {
			t.Errorf("the tool of %s has written %d lines on h2", name, n)
		}
		told := l.find(`SELECT e.content FROM entries e JOIN requests r ON r.id = e.request JOIN agents a ON a.id = r.agent WHERE e.type = 'notice' AND e.metadata LIKE '%"files"%' AND a.name = '` + name + `'`)
		if want := map[bool]int{true: 0, false: 1}[name == "roamer"]; len(told) != want {
			t.Errorf("%s is told %q", name, told)
		}
	}
	for what, query := range never {
		for _, found := range l.find(query) {
			t.Errorf("%s: %s", what, found)
		}
	}
}
