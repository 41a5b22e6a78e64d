package machines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
)

// buildChaos builds the program that obeys a folder of the test.
func buildChaos(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "fika-chaos")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-tags", "chaos", "-o", bin, "fika/cmd/fika").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	check(t, os.Chmod(filepath.Dir(bin), 0o755))
	return bin
}

// skew sets the clock of a host wrong.
func (h *host) skew(by time.Duration) {
	h.Helper()
	check(h.T, os.WriteFile(filepath.Join(h.chaos, "skew"), []byte(strconv.FormatInt(by.Milliseconds(), 10)), 0o600))
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

// TestClocks: the clocks of three hosts are an hour fast, two hours slow and right. Leases,
// deadlines, holds, quotas, schedules and the times of what is said go by the database's, and
// each host counts as up for the others. A host whose clock jumps while it is frozen in the
// middle of a turn goes on with it.
func TestClocks(t *testing.T) {
	long(t)
	l := newLab(t, 3, "[[schedules]]\nname = \"sN\"\ncron = \"* * * * *\"\nagent = \"bN\"\nprompt = \"hello\"\n[[schedules]]\nname = \"qN\"\ncron = \"0 * * * *\"\nagent = \"bN\"\nprompt = \"hello\"\n")
	bin := buildChaos(t)
	for i, h := range l.hosts {
		path := filepath.Join(h.home, "config.toml")
		config, err := os.ReadFile(path)
		check(t, err)
		h.write("config.toml", strings.NewReplacer("\"sN\"", fmt.Sprintf("\"s%d\"", i+1), "\"qN\"", fmt.Sprintf("\"q%d\"", i+1), "\"bN\"", fmt.Sprintf("\"b%d\"", i+1)).Replace(string(config))+
			fmt.Sprintf("[[agents]]\nid = \"b%d\"\nwake = true\n[[agents]]\nid = \"c%[1]d\"\nwake = true\nmax_turns_per_hour = 1\n", i+1))
		h.bin, h.chaos = bin, t.TempDir()
		h.skew([]time.Duration{time.Hour, -2 * time.Hour, 0}[i])
		h.must("up")
	}
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
	l.near("leases", `SELECT CAST(lease_until AS TEXT) FROM agents WHERE owner <> ''`, time.Now().Add(45*time.Second), 30*time.Second)
	l.near("hosts", `SELECT CAST(until AS TEXT) FROM hosts`, time.Now().Add(20*time.Second), 20*time.Second)
	h2.must("chat", "create", "room")
	for _, h := range l.hosts {
		h.must("chat", "send", "room", "@a1 @a2 @a3 hello")
	}
	h2.must("chat", "wait", "room")
	l.near("what is said", `SELECT CAST(at AS TEXT) FROM entries`, time.Now(), 2*time.Minute)
	for _, agent := range []string{"c1", "c2", "c3"} {
		h3.must("ask", agent, "hello")
		h3.begin("ask", agent, "hello")
	}
	l.until("the quotas are used up", func() bool { return len(l.find(`SELECT name FROM agents WHERE held_until > 0`)) == 3 })
	hour := time.Now().Truncate(time.Hour)
	l.near("hours of quotas", `SELECT CAST(hour_start AS TEXT) FROM agents WHERE hour_turns > 0`, hour, time.Hour)
	l.near("ends of quotas", `SELECT CAST(held_until AS TEXT) FROM agents WHERE held_until > 0`, time.Now().Truncate(time.Hour).Add(time.Hour), time.Second)
	l.near("next times of schedules", `SELECT CAST(next_at AS TEXT) FROM schedules WHERE name LIKE 's%'`, time.Now(), 2*time.Minute)
	for i, h := range l.hosts {
		name := fmt.Sprintf("q%d", i+1)
		h.must("schedule", "run", name)
		h.must("schedule", "pause", name)
		h.must("schedule", "resume", name)
	}
	l.near("the next hour of schedules", `SELECT CAST(next_at AS TEXT) FROM schedules WHERE name LIKE 'q%'`, time.Now().Truncate(time.Hour).Add(time.Hour), time.Second)
	l.near("runs by hand", `SELECT CAST(begun_at AS TEXT) FROM schedules WHERE name LIKE 'q%'`, time.Now(), time.Minute)

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
	l.near("times of schedules", `SELECT CAST(planned_at AS TEXT) FROM schedules WHERE name LIKE 's%'`, time.Now(), 2*time.Minute)
}
