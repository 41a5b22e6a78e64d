package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// rules of the scripted model that the tests about agents use.
const rules = `
[[rule]]
match = "CONVERSATION TO SUMMARISE"
reply = "in short"
[[rule]]
match = "slow"
delay = "2s"
reply = "finally"
[[rule]]
match = "never"
delay = "10m"
reply = "much later"
[[rule]]
match = "sleep"
tool_calls = [{name = "bash", args = {command = "sleep 600"}}]
[[rule]]
match = "gate"
tool_calls = [{name = "bash", args = {command = "until [ -e go ]; do sleep 0.02; done"}}]
[[rule]]
match = "twice"
tool_calls = [{name = "bash", args = {command = "sleep 1"}}]
[[rule]]
after_tool = "bash"
reply = "the shell has spoken"
[[rule]]
match = "wrong key"
error = {status = 401, message = "invalid api key"}
[[rule]]
match = "(?s).*"
reply = "you said {{.Last}}"
`

// scriptedHome is a home whose agents answer from rules.
func scriptedHome(t *testing.T, more string, agents ...string) *home {
	t.Helper()
	var b strings.Builder
	b.WriteString("model = \"s\"\nlock_heartbeat_seconds = 1\ntool_permissions = [\"bash\", \"read\", \"list\"]\n" + more + "\n")
	for _, a := range agents {
		fmt.Fprintf(&b, "[[agents]]\n%s\n", a)
	}
	b.WriteString("[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n")
	h := newHome(t, b.String())
	h.write("rules.toml", rules)
	return h
}

const (
	autoCoder = "id = \"coder\"\nauto_start = true\npersistent = true"
	lazy      = "id = \"lazy\"\npersistent = false\nmax_idle_seconds = 1"
	manual    = "id = \"manual\"\nwake = false"
)

// opens lets an agent that was asked to wait at the gate go on.
func (h *home) opens(name string) {
	h.Helper()
	work := filepath.Join(h.dir, "contexts", name, "workspace")
	h.ok(os.MkdirAll(work, 0o700))
	h.ok(os.WriteFile(filepath.Join(work, "go"), nil, 0o600))
}

func (h *home) closes(name string) {
	h.Helper()
	h.ok(os.Remove(filepath.Join(h.dir, "contexts", name, "workspace", "go")))
}

// listed is a line of fika agent list --json.
type listed struct {
	Name, Status, Why, Trouble, Desired string
	PID, Requests, Waiting              int
}

func (h *home) agents() map[string]listed {
	h.Helper()
	out := map[string]listed{}
	for _, a := range jsonLines[listed](h, h.must("agent", "list", "--json")) {
		out[a.Name] = a
	}
	return out
}

func (h *home) untilAgent(name, what string, is func(listed) bool) listed {
	h.Helper()
	var a listed
	h.until("@"+name+" "+what, func() bool { a = h.agents()[name]; return is(a) })
	return a
}

func (h *home) request(id string) store.RequestInfo {
	h.Helper()
	r, err := h.store().Request(context.Background(), fika.RequestID(id))
	h.ok(err)
	return r
}

func (h *home) untilState(id string, want fika.RequestState) {
	h.Helper()
	h.until("request "+id+" "+string(want), func() bool { return h.request(id).State == want })
}

// TestCrash: an agent that is killed is started again and goes on; one that is
// killed again and again is given up, says so, and is started by hand.
func TestCrash(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	first := h.agents()["coder"]
	if first.Status != "idle" || first.PID != h.pid(agentWords("coder")) {
		t.Fatalf("after up: %+v", first)
	}
	id := h.must("ask", "--no-wait", "coder", "gate")
	h.untilState(id, fika.Running)
	if a := h.agents()["coder"]; a.Status != "busy" {
		t.Errorf("while it works: %+v", a)
	}
	h.opens("coder")
	h.kill(agentWords("coder"))
	h.untilState(id, fika.Done)
	a := h.agents()["coder"]
	for kills := 0; a.Status != "failed"; kills++ {
		if kills > 8 {
			t.Fatalf("after %d kills: %+v", kills, a)
		}
		if a.PID != 0 {
			_ = syscall.Kill(a.PID, syscall.SIGKILL)
		}
		before := a.PID
		a = h.untilAgent("coder", "started again, or given up", func(a listed) bool {
			return a.Status == "failed" || (a.PID != 0 && a.PID != before && a.Status != "starting")
		})
	}
	if !strings.Contains(a.Why, "crashes within") {
		t.Errorf("given up: %+v", a)
	}
	if r := h.run("agent", "health"); r.code != 1 || !strings.Contains(r.stderr, "1 of 1 agents need attention") {
		t.Errorf("health: %d %s", r.code, r.stderr)
	}
	h.must("agent", "start", "coder")
	if a := h.agents()["coder"]; a.Status != "idle" || a.Trouble != "" {
		t.Errorf("started by hand: %+v", a)
	}
	if got := h.must("ask", "coder", "hello"); got != "you said hello" {
		t.Errorf("answer %q", got)
	}
}

// TestCrashOfLazy: one that is not persistent is started again when it died at
// work, and only then.
func TestCrashOfLazy(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", "id = \"lazy\"\nauto_start = true")
	h.must("up")
	id := h.must("ask", "--no-wait", "lazy", "gate")
	h.untilState(id, fika.Running)
	h.kill(agentWords("lazy"))
	h.opens("lazy")
	h.untilState(id, fika.Done)
	h.settled()
}

// TestHubKilled: agents outlive the hub; the next one adopts them. When both
// are killed, the work goes on all the same.
func TestHubKilled(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	before := h.pid(agentWords("coder"))
	id := h.must("ask", "--no-wait", "coder", "gate")
	h.untilState(id, fika.Running)
	h.kill(hubWords)
	h.opens("coder")
	h.untilState(id, fika.Done)
	if r := h.run("status"); r.code != 3 || !strings.Contains(r.stdout, "not running") {
		t.Errorf("status without a hub: %d %s", r.code, r.stdout)
	}
	h.must("up")
	if got := h.must("ask", "coder", "again"); got != "you said again" {
		t.Errorf("answer %q", got)
	}
	if after := h.pid(agentWords("coder")); after != before {
		t.Errorf("the new hub has %d in the place of %d", after, before)
	}
	h.closes("coder")
	id = h.must("ask", "--no-wait", "coder", "gate")
	h.untilState(id, fika.Running)
	h.kill(hubWords)
	h.kill(agentWords("coder"))
	h.opens("coder")
	h.must("up")
	h.untilState(id, fika.Done)
	h.settled()
}

// TestHung: a process that gives no sign of life is ended and started again,
// and so is one whose step does not end although it was cancelled.
func TestHung(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.start("", "up", "--foreground", "--hung", "2500ms", "--grace", "5s")
	a := h.untilAgent("coder", "idle", func(a listed) bool { return a.Status == "idle" })
	h.ok(syscall.Kill(a.PID, syscall.SIGSTOP))
	h.untilAgent("coder", "unhealthy", func(a listed) bool { return a.Status == "unhealthy" })
	h.untilAgent("coder", "another process", func(b listed) bool { return b.Status == "idle" && b.PID != a.PID })
	if got := h.must("ask", "coder", "hello"); got != "you said hello" {
		t.Errorf("answer %q", got)
	}
}

// TestStop: the three ways to stop an agent, and that it stays stopped.
func TestStop(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	id := h.must("ask", "--no-wait", "coder", "gate")
	h.untilAgent("coder", "in its tool", func(a listed) bool { return strings.Contains(a.Why, "in the tool bash") })
	stop := h.start("", "agent", "stop", "coder")
	h.untilAgent("coder", "stopping", func(a listed) bool { return a.Status == "stopping" })
	h.opens("coder") // the step ends, the request is handed back
	if r := stop.wait(); r.code != 0 {
		t.Errorf("stop: %+v", r)
	}
	if r := h.request(id); r.State != fika.Open || r.Attempts != 0 {
		t.Errorf("after stop: %s, %d attempts (%s)", r.State, r.Attempts, r.Reason)
	}
	if a := h.agents()["coder"]; a.Status != "stopped" || a.Desired != "stopped" || a.Waiting != 1 {
		t.Errorf("after stop: %+v", a)
	}
	h.must("down")
	h.must("up")
	if a := h.agents()["coder"]; a.Status != "stopped" {
		t.Errorf("after down and up: %+v", a)
	}
	h.must("agent", "start", "coder")
	h.untilState(id, fika.Done)

	id = h.must("ask", "--no-wait", "coder", "sleep")
	h.untilAgent("coder", "in its tool", func(a listed) bool { return strings.Contains(a.Why, "in the tool bash") })
	began := time.Now()
	h.must("agent", "stop", "--now", "coder")
	if took := time.Since(began); took > patience {
		t.Errorf("--now took %s", took)
	}
	if r := h.request(id); r.State != fika.Open {
		t.Errorf("after --now: %s (%s)", r.State, r.Reason)
	}
	h.must("request", "cancel", id)
	h.must("agent", "start", "coder")
	h.closes("coder")
	id = h.must("ask", "--no-wait", "coder", "gate")
	h.untilState(id, fika.Running)
	stop = h.start("", "agent", "stop", "--finish", "coder")
	h.untilAgent("coder", "stopping", func(a listed) bool { return a.Status == "stopping" })
	h.opens("coder")
	if r := stop.wait(); r.code != 0 {
		t.Errorf("stop --finish: %+v", r)
	}
	if r := h.request(id); r.State != fika.Done {
		t.Errorf("after --finish: %s", r.State)
	}
	if a := h.agents()["coder"]; a.Desired != "stopped" {
		t.Errorf("after --finish: %+v", a)
	}
	h.settled()
}

// TestStopWithoutHub: the wish is a column that the agent reads itself.
func TestStopWithoutHub(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	h.kill(hubWords)
	h.must("agent", "stop", "coder")
	h.gone("")
}

// TestByHand: an agent in a terminal is the same agent: the hub sees it, starts
// no second one, and down ends it too.
func TestByHand(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	byHand := h.start("", "agent", "run", "coder")
	h.untilAgent("coder", "idle", func(a listed) bool { return a.Status == "idle" })
	h.must("up")
	if got := h.must("ask", "coder", "hello"); got != "you said hello" {
		t.Errorf("answer %q", got)
	}
	if a := h.agents()["coder"]; a.PID != byHand.cmd.Process.Pid {
		t.Errorf("listed: %+v, by hand: %d", a, byHand.cmd.Process.Pid)
	}
	if pid := h.pid("agent run"); pid != byHand.cmd.Process.Pid {
		t.Errorf("the agent's process is %d, by hand: %d", pid, byHand.cmd.Process.Pid)
	}
	if r := h.run("agent", "run", "coder"); r.code != 4 {
		t.Errorf("a second one by hand: exit %d %s", r.code, r.stderr)
	}
	h.must("down")
	r := byHand.wait()
	if r.code != 0 {
		t.Errorf("ended with %d: %s", r.code, r.stderr)
	}
	for _, line := range []string{
		"Agent 'coder' initialized (model: s)", "Subscribed to: fika.agent.coder.request", "Ready for requests...",
		"[RECEIVED:ASK @coder] hello", "[PROCESSING...]", "you said hello", "[COMPLETED ✓]",
	} {
		if !strings.Contains(r.stdout, line+"\n") {
			t.Errorf("its terminal lacks %q:\n%s", line, r.stdout)
		}
	}
}

// TestIdle: an agent that is not persistent leaves when idle, comes back for
// work, and one that must not be woken stays away.
func TestIdle(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", lazy, manual)
	h.must("up")
	for range 2 {
		if got := h.must("ask", "lazy", "hello"); got != "you said hello" {
			t.Errorf("answer %q", got)
		}
		h.untilAgent("lazy", "gone", func(a listed) bool { return a.Status == "stopped" && a.PID == 0 && a.Trouble == "" })
	}
	h.must("ask", "--no-wait", "manual", "hello")
	h.must("ask", "lazy", "something for the hub to do meanwhile")
	if a := h.agents()["manual"]; a.Status != "stopped" || a.Waiting != 1 {
		t.Errorf("not to be woken: %+v", a)
	}
	h.must("agent", "start", "manual")
	h.quiet()
}

// TestStartFails: why an agent does not start is said where it is asked for.
func TestStartFails(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder, "id = \"lost\"\nworkspace = \"/nowhere/at/all\"\nauto_start = true", "id = \"keyless\"\nmodel = \"k\"")
	h.write("models.toml", "[[models]]\nid = \"k\"\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"NO_SUCH_KEY\"\n")
	r := h.run("up")
	if r.code != 1 || !strings.Contains(r.stderr, "@coder started") || !strings.Contains(r.stderr, "/nowhere/at/all is not a folder") {
		t.Errorf("up: %d\n%s", r.code, r.stderr)
	}
	h.one(h.run("agent", "start", "keyless"), 1, "NO_SUCH_KEY")
	if r := h.run("agent", "start", "codr"); r.code != 3 || !strings.Contains(r.stderr, `did you mean "coder"`) {
		t.Errorf("start of a misspelt agent: %d %s", r.code, r.stderr)
	}
	if r := h.run("ask", "coder", "wrong key"); r.code != 5 && r.code != 6 && r.code != 1 {
		t.Errorf("ask: %d %s", r.code, r.stderr)
	}
	a := h.agents()
	if !strings.Contains(a["coder"].Trouble, "invalid api key") || a["lost"].Status != "failed" || a["keyless"].Status != "failed" {
		t.Errorf("agents: %+v", a)
	}
}

// TestManyAgents: twenty agents come up and leave nothing behind.
func TestManyAgents(t *testing.T) {
	t.Parallel()
	var agents []string
	for i := range 20 {
		agents = append(agents, fmt.Sprintf("id = \"a%02d\"\nauto_start = true", i))
	}
	h := scriptedHome(t, "", agents...)
	var ready struct{ Agents []struct{ OK bool } }
	h.ok(json.Unmarshal([]byte(h.run("up", "--json").stdout), &ready))
	h.until("20 agents", func() bool {
		n := 0
		for _, a := range h.agents() {
			if a.Status == "idle" {
				n++
			}
		}
		return n == 20
	})
	h.must("down")
	h.gone("")
	if _, err := os.Stat(h.dir + "/run/hub.json"); err == nil {
		t.Error("hub.json is left")
	}
}

// TestDownModes: a home goes down after the requests of its agents, or without
// finishing their steps; either way it comes up again as it was.
func TestDownModes(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder, "id = \"other\"\nauto_start = true")
	h.must("up")
	id := h.must("ask", "--no-wait", "coder", "gate")
	h.untilState(id, fika.Running)
	next := h.must("task", "--no-wait", "coder", "hello")
	down := h.start("", "down", "--finish")
	h.until("the other to leave", func() bool { return len(h.processes("agent run")) == 1 })
	h.opens("coder")
	if r := down.wait(); r.code != 0 {
		t.Errorf("down: %+v", r)
	}
	if r := h.request(id); r.State != fika.Done {
		t.Errorf("after --finish: %s", r.State)
	}
	if r := h.request(next); r.State != fika.Open {
		t.Errorf("what had not begun is %s", r.State)
	}
	h.gone("")
	h.must("up")
	if got := h.must("request", "wait", next); got != "you said hello" {
		t.Errorf("answer %q", got)
	}
	id = h.must("ask", "--no-wait", "coder", "sleep")
	h.untilAgent("coder", "in its tool", func(a listed) bool { return strings.Contains(a.Why, "in the tool bash") })
	began := time.Now()
	h.must("down", "--now")
	if took := time.Since(began); took > patience {
		t.Errorf("--now took %s", took)
	}
	if r := h.request(id); r.State != fika.Open || r.Attempts != 0 {
		t.Errorf("after --now: %s, %d attempts", r.State, r.Attempts)
	}
	h.gone("")
	h.must("request", "cancel", id)
	h.one(h.run("down", "--now", "--finish"), 2, "cannot be used together")
}

// TestDownFinishStricter: who does not want to wait any longer says so.
func TestDownFinishStricter(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	id := h.must("ask", "--no-wait", "coder", "never")
	h.untilState(id, fika.Running)
	first := h.start("", "down", "--finish")
	h.untilAgent("coder", "stopping", func(a listed) bool { return a.PID != 0 })
	if r := h.run("down", "--finish", "--timeout", "300ms"); r.code != 7 {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	h.must("down", "--now")
	if r := first.wait(); r.code != 0 {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if s := h.request(id).State; s != fika.Open {
		t.Errorf("after all: %s", s)
	}
}

// TestHubAndAgentKilled: who waits while both are killed is told at once what
// goes on with it, and that does.
func TestHubAndAgentKilled(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string][]string{"ask": {"ask", "coder", "gate"}, "team": {"task", "coder -> coder", "gate"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := scriptedHome(t, "", autoCoder)
			h.must("up")
			p := h.start("", wait...)
			h.untilAgent("coder", "busy", func(a listed) bool { return a.Status == "busy" })
			h.kill(hubWords)
			h.kill(agentWords("coder"))
			h.until("the word of it", func() bool { return strings.Contains(p.errOut.String(), "fika up") })
			h.opens("coder")
			h.must("up")
			if r := p.wait(); r.code != 0 || r.stdout == "" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestHomeDeleted: hub and agents end when their home is deleted under them.
func TestHomeDeleted(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	hub := h.start("", "up", "--foreground")
	h.untilAgent("coder", "idle", func(a listed) bool { return a.Status == "idle" })
	h.until("the home to be gone", func() bool { return os.RemoveAll(h.dir) == nil }) // something may just be written there
	r := hub.wait()
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	if last := lines[len(lines)-1]; r.code != 1 || !strings.Contains(last, "was deleted while its hub ran") || strings.Count(r.stderr, "was deleted while") != 1 {
		t.Errorf("exit %d:\n%s", r.code, r.stderr)
	}
	h.until("the agents to go", func() bool { return len(h.processes("")) == 0 })
	h.ok(os.MkdirAll(h.dir, 0o700))
}
