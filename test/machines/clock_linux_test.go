package machines

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
)

// buildChaos returns the program that obeys a folder of the test.
func buildChaos(t *testing.T) string {
	t.Helper()
	bin, err := chaosBinary()
	check(t, err)
	return bin
}

// obey writes a file of the folder that the host's program obeys.
func (h *host) obey(name, text string) {
	h.Helper()
	next := filepath.Join(h.chaos, "."+name)
	check(h.T, os.WriteFile(next, []byte(text), 0o600))
	check(h.T, os.Rename(next, filepath.Join(h.chaos, name)))
}

// skew sets the clock of a host wrong.
func (h *host) skew(by time.Duration) {
	h.Helper()
	h.obey("skew", strconv.FormatInt(by.Milliseconds(), 10))
}

// near reports whether a number of milliseconds that a query selects is a time, within a bound.
func (l *lab) near(what, query string, want time.Time, within time.Duration) {
	l.Helper()
	found := l.find(query)
	if len(found) == 0 {
		l.Errorf("%s: nothing was found", what)
	}
	for _, text := range found {
		ms, err := strconv.ParseInt(text, 10, 64)
		if d := time.UnixMilli(ms).Sub(want); err != nil || d.Abs() > within {
			l.Errorf("%s: %s after what is right", what, d)
		}
	}
}

// onWrongClocks makes three hosts, of which the first is an hour fast, the second two hours slow,
// and the third right, and starts them. N in more is the number of the host. now returns the time
// of the database; when it begins, an hour of it has just begun.
func onWrongClocks(t *testing.T, more, rules string) (l *lab, now func() time.Time) {
	t.Helper()
	bin := buildChaos(t)
	l = newLab(t, 3, "")
	shift := time.Until(time.Now().Truncate(time.Hour).Add(time.Hour))
	for i, h := range l.hosts {
		h.add("config.toml", strings.ReplaceAll(more, "N", strconv.Itoa(i+1)))
		h.add("rules.toml", rules)
		h.bin, h.chaos = bin, t.TempDir()
		h.obey("clock", strconv.FormatInt(shift.Milliseconds(), 10))
		h.skew([]time.Duration{time.Hour, -2 * time.Hour, 0}[i])
		h.must("up")
	}
	return l, func() time.Time { return time.Now().Add(shift) }
}

// TestClocks: the clocks of three hosts are an hour fast, two hours slow and right. Leases,
// schedules and the times of what is said go by the database's, and each host counts as up for
// the others. A host whose clock jumps while it is frozen in the middle of a turn goes on with it.
func TestClocks(t *testing.T) {
	long(t)
	l, now := onWrongClocks(t, `
[[agents]]
id = "bN"
wake = true
[[schedules]]
name = "sN"
cron = "* * * * *"
agent = "bN"
prompt = "hello"
[[schedules]]
name = "qN"
cron = "0 * * * *"
agent = "bN"
prompt = "hello"
`, "")
	h1, h2, h3 := l.hosts[0], l.hosts[1], l.hosts[2]
	for _, h := range l.hosts {
		for _, other := range l.hosts {
			if !h.shows(other.name).Up {
				t.Errorf("%s counts as down on %s", other.name, h.name)
			}
		}
		if got := h1.must("ask", h.agentName(), "hello"); !strings.HasSuffix(got, "hello from "+h.name) {
			t.Errorf("%s says %q", h.agentName(), got)
		}
	}
	l.near("leases", `SELECT CAST(lease_until AS TEXT) FROM agents WHERE owner <> ''`, now().Add(45*time.Second), 30*time.Second)
	l.near("hosts", `SELECT CAST(until AS TEXT) FROM hosts`, now().Add(20*time.Second), 20*time.Second)
	h2.must("chat", "create", "room")
	for _, h := range l.hosts {
		h.must("chat", "send", "room", "@a1 @a2 @a3 hello")
	}
	h2.must("chat", "wait", "room")
	l.near("what is said", `SELECT CAST(at AS TEXT) FROM entries`, now(), 2*time.Minute)
	l.near("next times of schedules", `SELECT CAST(next_at AS TEXT) FROM schedules WHERE name LIKE 's%'`, now(), 2*time.Minute)
	for i, h := range l.hosts {
		name := fmt.Sprintf("q%d", i+1)
		h.must("schedule", "run", name)
		h.must("schedule", "pause", name)
		h.must("schedule", "resume", name)
	}
	l.near("the next hour of schedules", `SELECT CAST(next_at AS TEXT) FROM schedules WHERE name LIKE 'q%'`, now().Truncate(time.Hour).Add(time.Hour), time.Second)
	l.near("runs by hand", `SELECT CAST(begun_at AS TEXT) FROM schedules WHERE name LIKE 'q%'`, now(), time.Minute)

	answer := h3.begin("ask", "a3", "tick 30")
	l.until("a3 ticks", func() bool { _, n := h3.ticks(h3.home, "a3"); return n > 3 })
	before := l.agent("a3")
	h3.signalAll(syscall.SIGSTOP)
	h3.skew(time.Hour) // a laptop is opened an hour later, as far as its clock says
	<-time.After(2 * time.Second)
	h3.signalAll(syscall.SIGCONT)
	if got := answer(); !strings.HasSuffix(got, "it ticked") {
		t.Errorf("after the jump, a3 says %q", got)
	}
	if now := l.agent("a3"); now.Epoch != before.Epoch || now.State == fika.AgentFailed {
		t.Errorf("after the jump: %+v", now)
	}
	l.until("each schedule has begun", func() bool {
		return len(l.find(`SELECT name FROM schedules WHERE name LIKE 's%' AND begun_at > 0`)) == 3
	})
	l.near("times of schedules", `SELECT CAST(planned_at AS TEXT) FROM schedules WHERE name LIKE 's%'`, now(), 2*time.Minute)
}

// TestClocksOfLimits: on hosts with the clocks of TestClocks, how long something may take, how
// long it is held and how much an hour has room for go by the database's time as well, whichever
// host it is said on and whichever works.
func TestClocksOfLimits(t *testing.T) {
	long(t)
	l, now := onWrongClocks(t, `
[[agents]]
id = "cN"
wake = true
max_turns_per_hour = 1
[[agents]]
id = "dN"
wake = true
rules = [{tool = "bash", do = "ask"}]
[board]
patience = "1s"
`, "[[rule]]\nmatch = \"busy\"\nerror = {status = 429, message = \"too many\", retry_after = \"8m\"}\n")
	for i, h := range l.hosts {
		other := l.hosts[(i+1)%3]
		h.must("board", "add", "in good time", "--due", "20m", "--key", h.name)
		h.must("token", "create", "t"+h.name, "--expires", "10m")
		other.begin("ask", fmt.Sprintf("a%d", i+1), "busy")
		other.begin("ask", fmt.Sprintf("d%d", i+1), "tick 1")
		other.must("ask", fmt.Sprintf("c%d", i+1), "hello")
		other.begin("ask", fmt.Sprintf("c%d", i+1), "hello")
	}
	count := func(query string) int { return len(l.find(query)) }
	l.near("deadlines of tasks", `SELECT CAST(due AS TEXT) FROM tasks`, now().Add(20*time.Minute), 2*time.Minute)
	l.near("ends of tokens", `SELECT CAST(expires_at AS TEXT) FROM tokens`, now().Add(10*time.Minute), 2*time.Minute)
	l.until("all are asked about", func() bool { return count(`SELECT step || '' FROM approvals WHERE state = 'open'`) == 3 })
	l.near("deadlines of answers", `SELECT CAST(expires_at AS TEXT) FROM approvals`, now().Add(24*time.Hour), 2*time.Minute)
	l.until("all wait for their provider", func() bool {
		return count(`SELECT id FROM requests WHERE state = 'waiting' AND reason = 'provider'`) == 3
	})
	l.near("ends of what is held", `SELECT CAST(wait_until AS TEXT) FROM requests WHERE state = 'waiting' AND reason = 'provider'`, now().Add(8*time.Minute), 2*time.Minute)
	l.until("the quotas are used up", func() bool { return count(`SELECT name FROM agents WHERE held_until > 0`) == 3 })
	hour := now().Truncate(time.Hour)
	l.near("hours of quotas", `SELECT CAST(hour_start AS TEXT) FROM agents WHERE hour_turns > 0`, hour, 0)
	l.near("ends of quotas", `SELECT CAST(held_until AS TEXT) FROM agents WHERE held_until > 0`, hour.Add(time.Hour), time.Second)

	for _, h := range l.hosts { // over soon, on each host, wherever it was said
		h.must("board", "add", "at once", "--due", "1s", "--key", h.name+" soon")
	}
	l.until("what is late is held, and nothing else", func() bool { return count(`SELECT n || '' FROM tasks WHERE state = 'held'`) == 3 })
	if late := l.find(`SELECT title || ' is ' || state FROM tasks WHERE (title = 'at once') <> (state = 'held')`); len(late) > 0 {
		t.Errorf("held by the wrong clock: %v", late)
	}
}
