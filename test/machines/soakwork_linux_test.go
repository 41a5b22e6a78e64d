package machines

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

const (
	shortTool = 5   // lines that a tool writes
	longTool  = 120 // the same of one that outlives a lease: one each half second
)

// soakFlow is the workflow whose runs are begun on host N: agents of that host, of a pool and
// such that go to another host, in parallel and one after the other, and a person.
const soakFlow = `result = "end"
[inputs]
key = { type = "text" }
[[steps]]
id = "one"
agent = "aN"
retry = 3
prompt = "work {{.inputs.key}}-one"
[[steps]]
id = "two"
agent = "r2"
needs = ["one"]
retry = 3
prompt = "work {{.inputs.key}}-two"
[[steps]]
id = "roam"
agent = "r1"
needs = ["one"]
retry = 3
prompt = "work {{.inputs.key}}-roam"
[[steps]]
id = "each"
agent = "team"
for_each = "1..3"
retry = 3
prompt = "work {{.inputs.key}}-each{{.item}}"
[[steps]]
id = "ask"
needs = ["two", "roam", "each"]
approve = true
prompt = "go on with {{.inputs.key}}?"
[[steps]]
id = "end"
agent = "bN"
needs = ["ask"]
retry = 3
prompt = "work {{.inputs.key}}-end"
`

// configureWorker gives host n its agents: an, bn, cn of its own, two members of the pool team,
// r1 and r2, whose files are in a folder that all hosts have, and g1 to g3, whose worktrees are
// pushed: twenty in all.
func (s *soak) configureWorker(h *host, n int) {
	s.Helper()
	check(s.T, os.MkdirAll(filepath.Join(h.home, "workflows"), 0o700))
	h.write("workflows/soak.toml", strings.ReplaceAll(soakFlow, "N", strconv.Itoa(n)))
	effects := filepath.Join(s.dir, h.name, "effects")
	check(s.T, os.MkdirAll(effects, 0o755))
	h.add("config.toml", strings.ReplaceAll(`
[landing]
check = "test ! -e broken"
strategy = "squash"
[board]
tainted = "allow"
[[agents]]
id = "bN"
wake = true
board = true
[[agents]]
id = "cN"
wake = true
rules = [{tool = "bash", do = "ask"}]
[[schedules]]
name = "sN"
cron = "* * * * *"
agent = "cN"
prompt = "hello by the clock"
`, "N", strconv.Itoa(n))+s.members())
	write := `for i in $(seq %d); do echo {{.Group.key}} $(date +%%s%%N) >> ` + effects + `/{{.Agent}}; sleep %s; done`
	h.add("rules.toml", fmt.Sprintf(`[[rule]]
after_tool = "offer"
reply = "offered"
[[rule]]
match = "what these calls have changed in files since then is not here"
reply = "it may have run"
[[rule]]
match = "work (?P<key>[a-z]+-[a-z0-9-]+)"
tool_calls = [{name = "bash", args = {command = "%s"}}]
[[rule]]
match = "long (?P<key>ask-[0-9]+)"
tool_calls = [{name = "bash", args = {command = "%s"}}]
[[rule]]
match = "make (?P<key>land-[0-9]+)"
tool_calls = [{name = "bash", args = {command = "echo {{.Group.key}} >> {{.Group.key}}.txt; %s"}}]
`, fmt.Sprintf(write, shortTool, "0.2"), fmt.Sprintf(write, longTool, "0.5"), fmt.Sprintf(write, 1, "0.1")))
	rules, err := os.ReadFile(filepath.Join(h.home, "rules.toml")) // before the rules for what any tool says
	check(s.T, err)
	h.write("rules.toml", strings.Replace(string(rules), "[[rule]]\n", `[[rule]]
match = "make (?P<key>land-[0-9]+)"
after_tool = "bash"
result = "no output"
tool_calls = [{name = "offer", args = {summary = "{{.Group.key}}"}}]
[[rule]]
`, 1))
}

// members are the settings of those agents that all hosts define.
func (s *soak) members() string {
	text := "[[agents]]\nid = \"team\"\ninstances = 6\nplaces = 2\nwake = true\n"
	for i := 1; i <= 2; i++ {
		folder := filepath.Join(s.dir, "network", strconv.Itoa(i))
		check(s.T, os.MkdirAll(folder, 0o755))
		text += fmt.Sprintf("[[agents]]\nid = \"r%d\"\nwake = true\nworkspace_on = \"shared\"\nworkspace = %q\n", i, folder)
	}
	for i := 1; i <= 3; i++ {
		text += fmt.Sprintf("[[agents]]\nid = \"g%d\"\nwake = true\nworkspace_on = \"git\"\nworkspace = \"worktree\"\ntool_permissions = [\"bash\", \"offer\"]\n", i)
	}
	return text
}

// any returns one of the agents whose names begin with one of some letters.
func (s *soak) any(kinds string) fika.AgentName {
	kind, n := kinds[s.rand.IntN(len(kinds))], 1+s.rand.IntN(3)
	if kind == 'r' {
		n = 1 + n%2
	}
	return fika.AgentName(fmt.Sprintf("%c%d", kind, n))
}

// step gives the agents something to do, and answers what they ask.
func (s *soak) step(i int) {
	switch {
	case i%3 == 0:
		s.give(s.desk, "chat", "send", "room", fmt.Sprintf("@%s @%s hello %d", s.any("ar"), s.any("bcg"), i))
		s.counts["messages"]++
	case i%25 == 1:
		s.beginRun(fmt.Sprintf("run-%d", i))
	case i%5 == 0:
		s.give(s.desk, "board", "add", fmt.Sprintf("work task-%d", i), "--agent", string(s.any("b")), "--key", fmt.Sprintf("task %d", i))
		s.counts["tasks"]++
	case i%5 == 1:
		s.ask(fmt.Sprintf("land-%d", i), s.any("g"), "make")
	case i%7 == 2:
		s.askLong(fmt.Sprintf("ask-%d", i), s.any("rrag"))
	case i%7 == 3:
		s.ask(fmt.Sprintf("ask-%d", i), "team", "work")
	default:
		s.ask(fmt.Sprintf("ask-%d", i), s.any("abcr"), "work")
	}
	if i%4 == 0 {
		s.approve()
	}
	s.lookAtLeases()
}

// give gives a command, again while it is refused because a host that was halted in the middle
// of a transaction holds rows: until the server ends that, nothing is changed.
func (s *soak) give(h *host, args ...string) string {
	s.Helper()
	for {
		out, code := h.run(h.home, args...)
		switch {
		case code == 0:
			return out
		case !strings.Contains(out, "nothing was changed here"):
			s.Fatalf("%s: fika %s: exit %d: %s", h.name, strings.Join(args, " "), code, out)
		}
		s.counts["refused"]++
	}
}

// ask has an agent, or a pool, do something with the id of the request.
func (s *soak) ask(id string, name fika.AgentName, what string) {
	s.Helper()
	kind := fika.AskRequest
	if name == "team" {
		kind = fika.TaskRequest
	}
	n := store.NewRequest{ID: fika.RequestID(id), Kind: kind, Origin: fika.Queued, Agent: s.agent(name).ID, Payload: fika.Payload{Prompt: what + " " + id, From: "ann", Writer: fika.ByHuman}}
	_, err := s.db.Accept(s.Context(), n)
	for ; errors.Is(err, store.ErrBusy); _, err = s.db.Accept(s.Context(), n) {
		s.counts["refused"]++
	}
	check(s.T, err)
	s.asked = append(s.asked, fika.RequestID(id))
	s.counts[what+" asks"]++
}

// beginRun begins a run of a workflow on a host that nothing happens to, if there is one.
func (s *soak) beginRun(key string) {
	s.Helper()
	for _, h := range s.hosts[:3] {
		if s.ends[h] != nil || !s.isUp(h) {
			continue
		}
		s.give(h, "workflow", "run", "soak", "-i", "key="+key, "--no-wait")
		s.counts["runs"]++
		return
	}
}

// askLong has an agent work for long, unless it still does.
func (s *soak) askLong(id string, name fika.AgentName) {
	s.Helper()
	if last := s.longs[name]; last != "" {
		if r, err := s.db.Request(s.Context(), last); err != nil || !r.State.Terminal() {
			return
		}
	}
	s.longs[name] = fika.RequestID(id)
	s.longAsks = append(s.longAsks, id)
	s.ask(id, name, "long")
}

// approve allows everything that waits for a person.
func (s *soak) approve() {
	for line := range strings.Lines(s.give(s.desk, "approve", "--json")) {
		var a struct {
			ID int `json:"id"`
		}
		if json.Unmarshal([]byte(line), &a) == nil && a.ID > 0 {
			if _, code := s.desk.run(s.desk.home, "approve", strconv.Itoa(a.ID)); code == 0 {
				s.counts["approvals"]++
			}
		}
	}
}

// written returns when an agent's tools have written on a host, by what they worked on.
func (s *soak) written(h *host, name fika.AgentName) map[string][]time.Time {
	data, _ := os.ReadFile(filepath.Join(s.dir, h.name, "effects", string(name)))
	out := map[string][]time.Time{}
	for line := range strings.Lines(string(data)) {
		key, stamp, _ := strings.Cut(strings.TrimSpace(line), " ")
		ns, _ := strconv.ParseInt(stamp, 10, 64)
		out[key] = append(out[key], time.Unix(0, ns))
	}
	return out
}
