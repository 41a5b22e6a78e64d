package machines

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// listed is what fika agent list --json says of an agent.
type listed struct {
	Name   string
	Host   string
	Status string
	Code   string
}

// agents returns what a host sees of all agents, by name.
func (h *host) agents() map[string]listed {
	h.Helper()
	out := map[string]listed{}
	for line := range strings.Lines(h.must("agent", "list", "--all", "--json")) {
		var a listed
		if json.Unmarshal([]byte(line), &a) == nil {
			out[a.Name] = a
		}
	}
	return out
}

// shown is what fika host show --json says.
type shown struct {
	Up      bool
	State   string
	Duties  []string
	Agents  []string
	Refused string
}

func (h *host) shows(name string) (s shown) {
	h.Helper()
	check(h.T, json.Unmarshal([]byte(h.must("host", "show", name, "--json")), &s))
	return s
}

// agent reads an agent's row.
func (l *lab) agent(name fika.AgentName) fika.Agent {
	l.Helper()
	row, err := l.db.Agent(l.Context(), name)
	check(l.T, err)
	return row
}

// ticks returns when the tool of an agent has last written, and how often it has.
func (h *host) ticks(home, agent string) (last time.Time, n int) {
	data, _ := os.ReadFile(filepath.Join(home, "contexts", agent, "workspace", "ticks"))
	all := strings.Fields(string(data))
	if len(all) > 0 {
		ns, _ := strconv.ParseInt(all[len(all)-1], 10, 64)
		last = time.Unix(0, ns)
	}
	return last, len(all)
}

// copyHome copies the home of a host to another one's disk, and returns where it is.
func (h *host) copyHome(to *host) string {
	h.Helper()
	copied := filepath.Join(h.dir, to.name, "copied")
	if out, err := exec.Command("cp", "-a", h.home, copied).CombinedOutput(); err != nil {
		h.Fatalf("copy: %v: %s", err, out)
	}
	return copied
}

// TestThreeHosts: each hub starts its own agents, which all hosts reach; a name is its
// first definer's; what one hub does for all goes to another when it is gone; an agent that
// is to finish is let finish by whoever says so; a copied home is refused.
func TestThreeHosts(t *testing.T) {
	l := newLab(t, 3, "[[agents]]\nid = \"twin\"\nwake = true\n")
	h1, h2, h3 := l.hosts[0], l.hosts[1], l.hosts[2]
	h1.add("config.toml", "[[agents]]\nid = \"quiet\"\n")
	h1.must("up")
	for _, h := range l.hosts[1:] {
		if out, _ := h.run(h.home, "up"); !strings.Contains(out, "the host h1 has defined it first") || !strings.Contains(out, "started") {
			t.Errorf("%s defines h1's agent: %s", h.name, out)
		}
	}
	for _, ask := range []struct {
		from *host
		to   string
		want string
	}{{h1, "a2", "hello from h2"}, {h2, "a3", "hello from h3"}, {h3, "a1", "hello from h1"}, {h3, "twin", "hello from h1"}} {
		if got := ask.from.must("ask", ask.to, "hello"); got != ask.want {
			t.Errorf("%s asks %s: %q", ask.from.name, ask.to, got)
		}
	}
	h2.must("chat", "create", "room")
	h2.must("chat", "send", "room", "@a1 @a3 hello")
	h2.must("chat", "wait", "room")
	if said := h1.must("chat", "view", "room"); !strings.Contains(said, "hello from h1") || !strings.Contains(said, "hello from h3") {
		t.Errorf("the chat over three hosts: %s", said)
	}
	seen := h3.agents()
	for name, want := range map[string]string{"a1": "h1", "a2": "h2", "a3": "h3", "twin": "h1"} {
		if seen[name].Host != want || seen[name].Status != "idle" {
			t.Errorf("h3 sees %+v, want one that is idle on %s", seen[name], want)
		}
	}
	if seen["quiet"].Host != "h1" || seen["quiet"].Code != "agent.on_demand" {
		t.Errorf("h3 sees %+v of one that has never been started", seen["quiet"])
	}
	if s := h2.shows("h1"); !slices.Contains(s.Duties, "care") || !slices.Contains(s.Duties, "requests") || len(h2.shows("h3").Duties) != 0 {
		t.Errorf("h1 came first and has %v", s.Duties)
	}

	answer := h2.begin("ask", "a1", "tick 30")
	l.until("a1 is at work", func() bool { return l.agent("a1").State == fika.AgentBusy })
	stopped := h3.begin("agent", "stop", "--finish", "a1")
	l.until("a1 has stopped", func() bool {
		row := l.agent("a1")
		if row.State == fika.AgentStopped && row.Owner != "" {
			t.Error("it counts as stopped while its process has it")
			return true
		}
		return row.Owner == ""
	})
	if got := answer(); !strings.HasSuffix(got, "it ticked") {
		t.Errorf("its request ended with %q", got)
	}
	if out := stopped(); !strings.Contains(out, "@a1 stopped") {
		t.Errorf("stop says %q", out)
	}
	h2.must("agent", "start", "a1")
	if got := h3.must("ask", "a1", "hello"); !strings.HasSuffix(got, "hello from h1") { // before it: what its tools may have read
		t.Errorf("started from elsewhere, it says %q", got)
	}

	if out, code := h2.run(h1.copyHome(h2), "up"); code == 0 || !strings.Contains(out, "copy") || !strings.Contains(out, "home_id") {
		t.Errorf("a copy of h1's home on h2: exit %d: %s", code, out)
	}
	if s := h3.shows("h1"); s.Refused != "h2" {
		t.Errorf("h1 is not told of its copy: %+v", s)
	}
	if got := h3.must("ask", "a1", "hello"); !strings.HasSuffix(got, "hello from h1") {
		t.Errorf("after a copy was refused, a1 says %q", got)
	}

	h1.must("host", "drain", "h2")
	l.until("a2 has left", func() bool { return l.agent("a2").Owner == "" })
	if a := h3.agents()["a2"]; a.Code != "agent.host_drained" {
		t.Errorf("a drained agent: %+v", a)
	}
	h1.must("host", "resume", "h2")
	l.until("a2 is back", func() bool { return l.agent("a2").State == fika.AgentIdle })

	said := h2.overhear("ask", "quiet", "tick 1000")
	l.until("quiet is at work", func() bool { return l.agent("quiet").State == fika.AgentBusy })
	h1.kill()
	l.until("h1 counts as down", func() bool { return !h2.shows("h1").Up })
	l.until("another hub has its duties", func() bool { return len(h2.shows("h2").Duties)+len(h2.shows("h3").Duties) == 4 })
	for _, name := range []string{"a1", "quiet"} {
		l.until(name+" waits for h1", func() bool { return h3.agents()[name].Code == "agent.host_down" })
	}
	l.until("who asks quiet is told", func() bool { return strings.Contains(said(), "waits for the host h1") })
	if strings.Contains(said(), "fika up") {
		t.Errorf("who asks an agent of a host that is down is told %q", said())
	}
	if got := h3.must("ask", "a2", "hello"); got != "hello from h2" {
		t.Errorf("with h1 gone, a2 says %q", got)
	}
}

// TestPlacement: an agent runs only on the hosts that its settings name. While none fits, its
// work waits, and every view says so; then it runs on the one that fits, and once it has
// worked there it waits for that. With several hosts, the lists say on which an agent is.
func TestPlacement(t *testing.T) {
	l := newLab(t, 2, "[[agents]]\nid = \"painter\"\nwake = true\nrun_on = [\"gpu\", \"!old\"]\n")
	h1, h2 := l.hosts[0], l.hosts[1]
	for _, h := range l.hosts {
		if out, code := h.run(h.home, "up"); code != 0 {
			t.Fatalf("up: %s", out)
		}
	}
	asked := h1.begin("ask", "painter", "hello")
	const why = "may run on gpu, !old only, and no host is that"
	l.until("it is said that no host fits", func() bool {
		return h1.agents()["painter"].Code == "agent.no_host" && h2.agents()["painter"].Code == "agent.no_host" && strings.Contains(h2.must("agent", "list", "--all"), why) && strings.Contains(h1.must("status"), why)
	})
	if out, code := h1.run(h1.home, "agent", "run", "painter"); code == 0 || !strings.Contains(out, "painter may run on gpu, !old only, and h1 is not") {
		t.Errorf("by hand it runs where it may not: %s", out)
	}
	h1.must("host", "label", "h2", "gpu")
	if got := asked(); !strings.Contains(got, why) || !strings.HasSuffix(got, "hello from h2") {
		t.Errorf("who asked hears %q", got)
	}
	if a := h1.agents()["painter"]; a.Host != "h2" {
		t.Errorf("h1 sees it on %q", a.Host)
	}
	for _, list := range [][]string{{"status"}, {"agent", "list"}, {"top"}, {"request", "list"}} {
		out := h1.must(list...)
		if !strings.Contains(out, "HOST") || !strings.Contains(out, "h2") {
			t.Errorf("fika %v does not say where it is:\n%s", list, out)
		}
	}
	id := strings.Fields(strings.Split(h1.must("request", "list", "--agent", "painter"), "\n")[1])[0]
	if out := h1.must("trace", id); !strings.Contains(out, "painter on h2 ") {
		t.Errorf("trace: %s", out)
	}
	h1.must("host", "label", "h2", "old")
	l.until("it has left h2", func() bool { return l.agent("painter").Owner == "" })
	h1.must("host", "label", "h1", "gpu")
	l.until("it waits on h2", func() bool {
		return strings.Contains(h1.must("agent", "list"), "may run on gpu, !old only, and is on h2")
	})
	h1.must("host", "label", "h2", "old-")
	if got := h1.must("ask", "painter", "hello"); !strings.HasSuffix(got, "hello from h2") {
		t.Errorf("when h2 fits again, it says %q", got)
	}
	for _, bad := range []string{`["a b"]`, `["gpu", "gpu"]`, `["gpu", "!gpu"]`, `[]`, `["!"]`} {
		h1.write("config.toml", "[store]\nurl = \"postgres://h/d\"\n[[agents]]\nid = \"x\"\nrun_on = "+bad+"\n")
		if out, code := h1.run(h1.home, "config", "check"); code == 0 || !strings.Contains(out, "config.toml:5:1: run_on: ") {
			t.Errorf("run_on = %s: exit %d: %s", bad, code, out)
		}
	}
	h1.write("config.toml", "[[agents]]\nid = \"x\"\nrun_on = [\"gpu\"]\n")
	if out, code := h1.run(h1.home, "config", "check"); code == 0 || !strings.Contains(out, "run_on needs a database that hosts share") {
		t.Errorf("without a server: %s", out)
	}
}

// TestMove: an agent is moved to another host when what it does has ended, with its texts and
// its conversations; where it cannot go, or files would stay behind unsaid, it is refused.
func TestMove(t *testing.T) {
	l := newLab(t, 2, "[[agents]]\nid = \"mover\"\nwake = true\nrun_on = [\"h1\", \"h2\"]\n[[agents]]\nid = \"fixed\"\nrun_on = [\"h1\"]\n")
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("up")
	h2.must("up")
	refused := func(want string, args ...string) {
		t.Helper()
		if out, code := h2.run(h2.home, append([]string{"agent", "move"}, args...)...); code == 0 || !strings.Contains(out, want) {
			t.Errorf("move %v: exit %d: %q does not say %q", args, code, out, want)
		}
	}
	refused(`host "nowhere" not found`, "mover", "nowhere")
	refused("the host h2 does not define @a1", "a1", "h2")
	refused("@fixed may not run on h2", "fixed", "h2")
	h1.must("host", "drain", "h2")
	refused("the host h2 is drained", "mover", "h2")
	h1.must("host", "resume", "h2")

	answer := h2.begin("ask", "mover", "tick 30")
	l.until("it ticks on h1", func() bool { _, n := h1.ticks(h1.home, "mover"); return n > 3 })
	check(t, os.WriteFile(filepath.Join(h1.home, "contexts", "mover", "todos.md"), []byte("- pack\n"), 0o600))
	check(t, os.MkdirAll(filepath.Join(h2.home, "contexts", "mover"), 0o700))
	refused("contexts/mover/workspace would stay on h1", "mover", "h2")
	if out := h2.must("agent", "move", "mover", "h2", "--leave-files"); !strings.Contains(out, "@mover is on h2") {
		t.Errorf("move says %q", out)
	}
	if _, n := h1.ticks(h1.home, "mover"); n != 30 {
		t.Errorf("it was moved after %d of 30 ticks", n)
	}
	if got := answer(); !strings.HasSuffix(got, "it ticked") {
		t.Errorf("what it did ended with %q", got)
	}
	if todos, err := os.ReadFile(filepath.Join(h2.home, "contexts", "mover", "todos.md")); string(todos) != "- pack\n" {
		t.Errorf("todos %q, %v", todos, err)
	}
	for _, h := range l.hosts {
		if got := h.must("ask", "mover", "hello"); !strings.HasSuffix(got, "hello from h2") {
			t.Errorf("%s asks, and it says %q", h.name, got)
		}
	}
	if out := h1.must("conversation", "list", "--agent", "mover"); !strings.Contains(out, "mover") {
		t.Errorf("its conversations: %s", out)
	}
	if testing.Short() {
		return // what follows waits for a lease to lapse
	}
	h2.kill()
	l.until("h2 counts as down", func() bool { return !h1.shows("h2").Up })
	if out, code := h1.run(h1.home, "agent", "move", "mover", "h1"); code == 0 || !strings.Contains(out, "is on h2, which is down, and its files are there") {
		t.Errorf("moved from a host that is down: %s", out)
	}
	l.until("it has gone without its files", func() bool {
		out, code := h1.run(h1.home, "agent", "move", "mover", "h1", "--leave-files")
		if code != 0 && !strings.Contains(out, "may still be at work on h2") {
			t.Fatalf("move: %s", out)
		}
		return code == 0
	})
	if got := h1.must("ask", "mover", "hello"); !strings.HasSuffix(got, "hello from h1") {
		t.Errorf("back on h1, it says %q", got)
	}
}

// TestDefinitions: who may ask an agent, read it, and use the board is judged everywhere by
// what its own host says, not by the settings of where one asks; what no host has said is
// denied; and a change of it counts on the other hosts as well.
func TestDefinitions(t *testing.T) {
	l := newLab(t, 2, "")
	h1, h2 := l.hosts[0], l.hosts[1]
	own := "callable_by = [\"guest\"]\nreadable_by = [\"guest\"]\n[[agents]]\nid = \"twin\"\ncallable_by = []\n"
	h1.add("config.toml", own)
	h2.add("config.toml", "[[agents]]\nid = \"guest\"\n[[agents]]\nid = \"twin\"\n[[agents]]\nid = \"a1\"\ncallable_by = [\"a2\", \"user\"]\n")
	h2.add("rules.toml", `[[rule]]
match = "read (?P<who>[a-z0-9]+)"
tool_calls = [{name = "read_context", args = {name = "{{.Group.who}}"}}]
[[rule]]
match = "message (?P<who>[a-z0-9]+)"
tool_calls = [{name = "send_message", args = {to = "{{.Group.who}}", content = "psst"}}]
[[rule]]
after_tool = "read_context"
reply = "{{.Result}}"
[[rule]]
after_tool = "send_message"
reply = "{{.Result}}"
`)
	h1.must("up")
	if out, _ := h2.run(h2.home, "up"); strings.Count(out, "the host h1 has defined it first, and h2 defines it too") != 2 {
		t.Errorf("h2 defines two of h1's agents: %s", out)
	}
	_, err := l.db.EnsureAgent(t.Context(), store.NewAgent{Name: "ghost", HomeID: "of nobody"})
	check(t, err)
	hosts, _, err := l.db.ListHosts(t.Context())
	check(t, err)
	_, err = l.db.EnsureAgent(t.Context(), store.NewAgent{Name: "silent", HomeID: hosts[0].ID})
	check(t, err)
	for _, ask := range []struct{ to, says, want string }{
		{"a1", "hello", "a1 takes work from guest only"},
		{"twin", "hello", "twin takes work from nobody"},
		{"ghost", "hello", "is on no host, so nobody says who may ask it"},
		{"silent", "hello", "is on h1, which has not said yet who may ask it"},
		{"a2", "message a1", "a1 takes work from guest only"},
		{"a2", "read a1", "a1 is not readable by a2"},
		{"a2", "message twin", "twin takes work from nobody"},
		{"guest", "message a1", "Sent to a1"},
		{"guest", "read a1", "psst"},
	} {
		if got, _ := h2.run(h2.home, "ask", ask.to, ask.says); !strings.Contains(got, ask.want) {
			t.Errorf("on h2, %s is asked to %s: %q does not say %q", ask.to, ask.says, got, ask.want)
		}
	}
	config, err := os.ReadFile(filepath.Join(h1.home, "config.toml"))
	check(t, err)
	h1.write("config.toml", strings.Replace(string(config), own, "", 1))
	l.until("what h1 says counts on h2", func() bool {
		got, code := h2.run(h2.home, "ask", "a1", "hello")
		return code == 0 && strings.Contains(got, "hello from h1")
	})
}

func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: it waits for leases to lapse (make machines)")
	}
}

// TestFrozenHost: a host is frozen, and its home is brought up from a copy. That takes over
// once the leases have lapsed; when the first thaws, its tools end within 2 s, it begins
// nothing, and its hub ends.
func TestFrozenHost(t *testing.T) {
	long(t)
	l := newLab(t, 2, "")
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("up")
	copied := h1.copyHome(h2)
	h2.begin("ask", "a1", "tick 100000")
	l.until("a1 ticks", func() bool { _, n := h1.ticks(h1.home, "a1"); return n > 3 })
	before := l.agent("a1")
	h1.signalAll(syscall.SIGSTOP)
	l.until("the copy is the host", func() bool { _, code := h2.run(copied, "up"); return code == 0 })
	l.until("the copy has a1", func() bool { return l.agent("a1").Epoch > before.Epoch })
	row := l.agent("a1")
	if row.OwnerSite == before.OwnerSite || row.StartedAt.Before(before.LeaseUntil) {
		t.Errorf("taken over at %s by %s, before %s", row.StartedAt, row.OwnerSite, before.LeaseUntil)
	}
	thaw := time.Now()
	h1.signalAll(syscall.SIGCONT)
	l.until("the tools of h1 are gone", func() bool { return len(h1.processes("ticks")) == 0 })
	if last, _ := h1.ticks(h1.home, "a1"); last.After(thaw.Add(2 * time.Second)) {
		t.Errorf("a tool wrote %s after the thaw", last.Sub(thaw))
	}
	l.until("the hub of h1 ends", func() bool { return len(h1.processes(binary)) == 0 })
	if now := l.agent("a1"); now.OwnerSite != row.OwnerSite {
		t.Errorf("h1 has it again: %+v", now)
	}
	l.until("the copy has ended the work", func() bool { return l.agent("a1").State == fika.AgentIdle })
	if got, code := h2.run(copied, "ask", "a1", "hello"); code != 0 || !strings.HasSuffix(got, "hello from h1") { // the rules are copied, too
		t.Errorf("the copy answers %q", got)
	}
	if out, code := h2.run(copied, "down", "--now"); code != 0 {
		t.Errorf("down: %s", out)
	}
}

// TestCutLinks: without its database a host ends its tools before its leases end, and
// without the bus everything comes late but comes; the others go on, and both heal without
// help.
func TestCutLinks(t *testing.T) {
	long(t)
	l := newLab(t, 2, "")
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("up")
	h2.must("up")
	cut(t, h1.nats)
	for _, ask := range []struct{ to, want string }{{"a1", "hello from h1"}, {"a2", "hello from h2"}} {
		if got := h2.must("ask", ask.to, "hello"); !strings.HasSuffix(got, ask.want) { // before it: that the agent is just starting
			t.Errorf("without h1's bus, %s says %q", ask.to, got)
		}
	}
	heal(t, h1.nats)

	h2.begin("ask", "a1", "tick 100000")
	l.until("a1 ticks", func() bool { _, n := h1.ticks(h1.home, "a1"); return n > 3 })
	cut(t, h1.pg)
	held := l.agent("a1").LeaseUntil
	l.until("its tools end", func() bool { return len(h1.processes("ticks")) == 0 })
	if last, _ := h1.ticks(h1.home, "a1"); !last.Before(held) {
		t.Errorf("a tool wrote at %s, when the lease had ended at %s", last, held)
	}
	if got := h2.must("ask", "a2", "hello"); got != "hello from h2" {
		t.Errorf("meanwhile a2 says %q", got)
	}
	heal(t, h1.pg)
	l.until("the request of a1 ends", func() bool { return l.agent("a1").State == fika.AgentIdle })
	if got := h2.must("ask", "a1", "hello"); !strings.HasSuffix(got, "hello from h1") {
		t.Errorf("healed, a1 says %q", got)
	}
}

// TestStoppedOwner: the processes of a host are stopped, while a tool of theirs runs on, and
// the host's home is brought up elsewhere. The tool writes nothing after the takeover;
// without the watchdog, it does.
func TestStoppedOwner(t *testing.T) {
	long(t)
	bin := buildChaos(t)
	for name, without := range map[string]string{"watched": "", "without the watchdog": "watch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 2, "")
			for _, h := range l.hosts {
				h.bin, h.chaos = bin, t.TempDir()
				check(t, os.WriteFile(filepath.Join(h.chaos, "without"), []byte(without), 0o600))
			}
			h1, h2 := l.hosts[0], l.hosts[1]
			h1.must("up")
			copied := h1.copyHome(h2)
			h2.begin("ask", "a1", "tick 100000")
			l.until("a1 ticks", func() bool { _, n := h1.ticks(h1.home, "a1"); return n > 3 })
			before := l.agent("a1")
			for _, pid := range h1.processes(bin) {
				check(t, syscall.Kill(pid, syscall.SIGSTOP))
			}
			l.until("the copy is the host", func() bool { _, code := h2.run(copied, "up"); return code == 0 })
			l.until("the copy has a1", func() bool { return l.agent("a1").Epoch > before.Epoch })
			taken := l.agent("a1").StartedAt
			writes := func() bool { last, _ := h1.ticks(h1.home, "a1"); return last.After(taken) }
			if without != "" {
				l.until("a tool of the fenced owner writes", writes)
			} else if left := h1.processes("ticks"); writes() || len(left) > 0 {
				t.Errorf("after the takeover, the tool of h1 has written: %v, and is there: %v", writes(), left)
			}
			if out, code := h2.run(copied, "down", "--now"); code != 0 {
				t.Errorf("down: %s", out)
			}
		})
	}
}
