package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fika"
	"fika/internal/store"
)

// TestPoolWorksWhateverIsKilled: the tasks of a pool, whose members are killed in
// the middle of them, have one outcome each, and every member works.
func TestPoolWorksWhateverIsKilled(t *testing.T) {
	t.Parallel()
	h, work := poolHome(t, 3)
	h.write("rules.toml", strings.ReplaceAll(`[[rule]]
match = "work"
tool_calls = [{name = "bash", args = {command = "echo x >> WORK/begun; until [ -e WORK/go ]; do sleep 0.02; done"}}]
[[rule]]
after_tool = "bash"
reply = "worked"
`, "WORK", work))
	h.must("up")
	open := func() []store.RequestInfo {
		list, err := h.store().ListRequests(t.Context(), store.RequestFilter{States: fika.UnfinishedStates()})
		h.ok(err)
		return list
	}
	const many = 24
	for n := range many {
		h.must("task", "--no-wait", "coder", fmt.Sprint("work ", n))
	}
	h.until("all at work", func() bool { return lines(filepath.Join(work, "begun")) >= 3 })
	for _, a := range h.agents() {
		if a.PID > 0 {
			h.ok(syscall.Kill(a.PID, syscall.SIGKILL))
		}
	}
	h.ok(os.WriteFile(filepath.Join(work, "go"), nil, 0o600))
	h.until("all outcomes", func() bool { return len(open()) == 0 })
	all, err := h.store().ListRequests(t.Context(), store.RequestFilter{})
	h.ok(err)
	by := map[fika.AgentName]int{}
	for _, r := range all {
		by[r.AgentName]++
		if r.State != fika.Done || r.AskedName() != "coder" || r.Outcome.Answer != "worked" {
			t.Errorf("%s of @%s, asked @%s: %s %q", r.ID, r.AgentName, r.AskedName(), r.State, r.Outcome.Answer)
		}
	}
	if len(all) != many || len(by) != 3 {
		t.Errorf("%d requests, by %v", len(all), by)
	}
}

// poolHome is a home with a pool whose members share a folder.
func poolHome(t *testing.T, members int) (h *home, work string) {
	t.Helper()
	work = t.TempDir()
	return scriptedHome(t, fmt.Sprintf("[sandbox]\nwrite = [%q]\n", work), fmt.Sprintf("id = \"coder\"\ninstances = %d\n", members)), work
}

// TestPoolOfPeople: a person's asks go to one member, which is named, also while
// another is free; the pool is one line of a list, and stops as one.
func TestPoolOfPeople(t *testing.T) {
	t.Parallel()
	h, work := poolHome(t, 2)
	h.ok(os.Mkdir(filepath.Join(h.dir, "workflows"), 0o700))
	h.write("workflows/each.toml", "[[steps]]\nid = \"each\"\nagent = \"coder\"\nfor_each = '1..6'\nmax_parallel = 6\nprompt = \"both {{.item}}\"\n")
	// The tasks of the workflow are worked in pairs: an odd one ends after an even one has begun.
	const pairwise = `i=1; until mkdir WORK/$i 2>/dev/null; do i=$((i+1)); done; until [ $((i%2)) = 0 ] || [ -d WORK/$((i+1)) ]; do sleep 0.02; done`
	h.write("rules.toml", `[[rule]]
match = "slow"
delay = "300ms"
reply = "slowly"
[[rule]]
match = "quick"
reply = "quickly"
[[rule]]
match = "both"
tool_calls = [{name = "bash", args = {command = "`+strings.ReplaceAll(pairwise, "WORK", work)+`"}}]
[[rule]]
after_tool = "bash"
reply = "together"
`)
	h.must("up")
	first := h.run("ask", "coder", "quick")
	h.must("task", "--no-wait", "coder-1", "slow")
	second := h.run("ask", "coder", "quick")
	for _, r := range []result{first, second} {
		if r.code != 0 || !strings.Contains(r.stderr, "→ @coder-1") || !strings.Contains(r.stdout, "quickly") {
			t.Errorf("an ask: %+v", r)
		}
	}
	all, err := h.store().ListRequests(t.Context(), store.RequestFilter{Kinds: []fika.RequestKind{fika.AskRequest}})
	h.ok(err)
	if len(all) != 2 || all[0].Agent != all[1].Agent || all[0].Conversation != all[1].Conversation {
		t.Errorf("asks: %+v", all)
	}
	h.must("workflow", "run", "each")
	steps, err := h.store().ListRequests(t.Context(), store.RequestFilter{Kinds: []fika.RequestKind{fika.TaskRequest}})
	h.ok(err)
	by := map[fika.AgentName]int{}
	for _, r := range steps {
		by[r.AgentName]++
	}
	if len(steps) != 7 || by["coder-1"] < 3 || by["coder-2"] < 3 {
		t.Errorf("the steps of the workflow: %v", by)
	}
	h.must("chat", "create", "room")
	h.must("chat", "send", "room", "@coder quick")
	h.must("chat", "wait", "room")
	if out := h.must("chat", "why", "room", "1", "coder"); !strings.Contains(out, "a pool; it went to the member @coder-") || !strings.Contains(out, "answered it with #2") {
		t.Errorf("why: %s", out)
	}
	if r := h.run("doctor"); strings.Contains(r.stdout, "coder is gone") {
		t.Errorf("doctor misses a folder of the pool: %s", r.stdout)
	}
	if r := h.run("agent", "run", "coder"); r.code != 2 || !strings.Contains(r.stderr, "name a member, as in coder-1") {
		t.Errorf("a process of the pool: %+v", r)
	}
	h.must("agent", "stop", "coder")
	if list := h.agents(); list["coder-1"].Status != "stopped" || list["coder-2"].Status != "stopped" || list["coder"].Status != "pool" {
		t.Errorf("stopped: %+v", list)
	}
	if r := h.run("task", "--no-wait", "coder", "quick"); !strings.Contains(r.stderr, "no member of @coder can take it") {
		t.Errorf("a task for a stopped pool: %+v", r)
	}
	h.write("config.toml", strings.Replace(h.read("config.toml"), "[[agents]]\nid = \"coder\"\ninstances = 2\n", "", 1))
	if r := h.run("task", "--no-wait", "coder", "quick"); !strings.Contains(r.stderr, "@coder has no process and is not started by itself") {
		t.Errorf("a task for what was a pool: %+v", r)
	}
}
