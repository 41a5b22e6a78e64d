package machines

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// poolOfFour makes two hosts that have two members each of the pool team.
func poolOfFour(t *testing.T) *lab {
	l := newLab(t, 2, "[[agents]]\nid = \"team\"\ninstances = 4\nplaces = 2\nauto_start = true\npersistent = true\n")
	for _, h := range l.hosts {
		if out, code := h.run(h.home, "up"); code != 0 || strings.Count(out, "team-") != 2 {
			t.Fatalf("%s has two members: exit %d: %s", h.name, code, out)
		}
	}
	return l
}

// TestPoolOverHosts: the members of a pool on two hosts work its tasks while one of them after
// another is killed; each task has one outcome.
func TestPoolOverHosts(t *testing.T) {
	l := poolOfFour(t)
	h1, h2 := l.hosts[0], l.hosts[1]
	seen := h1.agents()
	for name, host := range map[string]string{"team-1": "h1", "team-2": "h1", "team-3": "h2", "team-4": "h2"} {
		if seen[name].Host != host {
			t.Errorf("%s is on %q, want %s", name, seen[name].Host, host)
		}
	}
	tasks, every := 200, 5*time.Second
	if testing.Short() {
		tasks, every = 24, time.Second
	}
	pool := l.agent("team")
	var ids []fika.RequestID
	for i := range tasks {
		accepted, err := l.db.Accept(t.Context(), store.NewRequest{
			ID: fika.RequestID(fmt.Sprintf("task-%03d", i)), Kind: fika.TaskRequest, Origin: fika.Queued, Agent: pool.ID, Payload: fika.Payload{Prompt: "tick 8", From: "ann", Writer: fika.ByHuman},
		})
		check(t, err)
		ids = append(ids, accepted.Request.ID)
	}
	begun, next, killed := time.Now(), time.Now().Add(every), 0
	l.until("all tasks have ended", func() bool {
		open := 0
		for _, id := range ids {
			r, err := l.db.Request(t.Context(), id)
			check(t, err)
			if !r.State.Terminal() {
				open++
			}
		}
		if time.Now().After(next) && open > 0 {
			next = time.Now().Add(every)
			name := fmt.Sprintf("team-%d", killed%4+1)
			for _, pid := range append(h1.processes(name), h2.processes(name)...) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			killed++
		}
		return open == 0
	})
	by := map[fika.AgentName]int{}
	for _, id := range ids {
		r, err := l.db.Request(t.Context(), id)
		check(t, err)
		entries, err := l.db.Entries(t.Context(), store.EntryQuery{Conversation: r.Conversation})
		check(t, err)
		answers := 0
		for _, e := range entries {
			if e.Request == id && e.From == string(r.AgentName) && (e.Content == "it ticked" || e.Content == "it may have run") {
				answers++
			}
		}
		if r.State != fika.Done || answers != 1 {
			t.Errorf("%s of %s: %s (%s), %d answers", id, r.AgentName, r.State, r.Outcome.Error, answers)
		}
		by[r.AgentName]++
	}
	t.Logf("%d tasks in %s, %d kills: %v", tasks, time.Since(begun).Round(time.Second), killed, by)
	if len(by) != 4 || killed == 0 {
		t.Errorf("only %v have worked, with %d kills", by, killed)
	}
}

// TestPoolWithoutAHost: when a host is gone, what its members are bound to waits for it, which
// is said, and everything else goes to the members of the other host.
func TestPoolWithoutAHost(t *testing.T) {
	long(t)
	l := poolOfFour(t)
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("host", "drain", "h1")
	if got := h1.must("ask", "team", "hello"); !strings.HasSuffix(got, "hello from h2") {
		t.Errorf("with h1 drained, an ask goes to %q", got)
	}
	h1.must("host", "resume", "h1")
	h2.kill()
	l.until("h2 counts as down", func() bool { return !h1.shows("h2").Up })
	h1.begin("ask", "team", "hello")
	l.until("what is bound waits for h2", func() bool {
		return strings.Contains(h1.must("request", "list", "--state", "open"), "h2") && strings.Contains(h1.must("agent", "list"), "waits for the host h2")
	})
	if out, code := h1.run(h1.home, "task", "team", "hello"); code != 0 || !strings.HasSuffix(out, "hello from h1") {
		t.Errorf("a task of the pool: %q", out)
	}
}
