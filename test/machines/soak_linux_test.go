package machines

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
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

// never lists queries that find something only when a promise is broken.
var never = map[string]string{
	"a request has no outcome":              `SELECT id || ' ' || kind || ' ' || state FROM requests WHERE finished_at = 0`,
	"a notification is not settled":         `SELECT id || ' ' || state FROM notifications WHERE state IN ('pending', 'claimed')`,
	"a task of the board has not ended":     `SELECT n || ' ' || state FROM tasks WHERE ended_at = 0`,
	"an outcome was not published":          `SELECT id FROM requests WHERE announced_at = 0 AND origin = 'queued'`,
	"a step is not settled":                 `SELECT request || '/' || n || ' ' || state FROM steps WHERE state IN ('planned', 'started')`,
	"a model call was stored twice":         `SELECT request || ' round ' || round FROM steps WHERE kind = 'model' GROUP BY request, round HAVING count(*) > 1`,
	"usage and model steps differ":          `SELECT s.request || '/' || s.n FROM steps s LEFT JOIN usage u ON u.request = s.request AND u.n = s.n WHERE s.kind = 'model' AND u.n IS NULL`,
	"a message was taken twice by an agent": `SELECT conversation || ' ' || seq || ' ' || agent FROM notifications GROUP BY conversation, seq, agent HAVING count(*) > 1`,
	"a tool call does not have one result":  `SELECT c.id FROM entries c LEFT JOIN (SELECT conversation, reply_to, count(*) AS results FROM entries WHERE type = 'tool_result' GROUP BY conversation, reply_to) t ON t.conversation = c.conversation AND t.reply_to = c.id WHERE c.type = 'tool_call' AND coalesce(t.results, 0) <> 1`,
	"a request that is done does not have one answer": `SELECT r.id || ' has ' || count(e.id) FROM requests r LEFT JOIN entries e ON e.request = r.id AND e.type = 'message' AND (CAST(nullif(e.metadata, '') AS json) ->> 'final') = 'true'
WHERE r.state = 'done' AND r.kind <> 'workflow' GROUP BY r.id HAVING count(e.id) <> 1`,
	"a request that is not done has an answer": `SELECT r.id FROM requests r JOIN entries e ON e.request = r.id AND e.type = 'message' AND (CAST(nullif(e.metadata, '') AS json) ->> 'final') = 'true' WHERE r.state <> 'done' AND r.finished_at <> 0`,
}

// trouble is something that is done to a host for some seconds.
type trouble struct {
	name  string
	long  time.Duration
	begin func(*host)
	end   func(*host)
}

func troubles() []trouble {
	again := func(h *host) { h.boot(); h.begin("up") }
	stop := func(of func(*host) *os.Process) func(*host) {
		return func(h *host) { _ = of(h).Signal(syscall.SIGSTOP) }
	}
	cont := func(of func(*host) *os.Process) func(*host) {
		return func(h *host) { _ = of(h).Signal(syscall.SIGCONT) }
	}
	pg, nats := func(h *host) *os.Process { return h.pg.Process }, func(h *host) *os.Process { return h.nats.Process }
	return []trouble{
		{"killed", 8 * time.Second, (*host).kill, again},
		{"frozen", 8 * time.Second, func(h *host) { h.signalAll(syscall.SIGSTOP) }, func(h *host) { h.signalAll(syscall.SIGCONT) }},
		{"frozen beyond its leases", 55 * time.Second, func(h *host) { h.signalAll(syscall.SIGSTOP) }, func(h *host) { h.signalAll(syscall.SIGCONT) }},
		{"cut off from the database", 10 * time.Second, stop(pg), cont(pg)},
		{"cut off from the database beyond its leases", 55 * time.Second, stop(pg), cont(pg)},
		{"cut off from the bus", 10 * time.Second, stop(nats), cont(nats)},
		{"brought down", 12 * time.Second, func(h *host) { h.begin("down") }, func(h *host) { h.begin("up") }},
		{"its processes killed, not its tools", 3 * time.Second, func(h *host) {
			for _, pid := range h.processes(binary) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}, func(h *host) { h.begin("up") }},
	}
}

// soak is a table at work on three hosts that are not left alone. A fourth is the person's,
// which nothing happens to.
type soak struct {
	*lab
	desk   *host
	asked  []fika.RequestID
	counts map[string]int
	taken  map[fika.AgentName][]time.Time // when an agent's leases began
	until  map[*host]time.Time            // when its trouble ends
	ends   map[*host]func()
	rand   *rand.Rand
}

// TestSoak has three hosts work for MINUTES while every ten seconds one of them is killed,
// frozen, cut off or restarted, and then checks that nothing was lost or done twice, that no
// tool of an owner that had lost its lease has written, and that the figures are those of the
// ledger.
func TestSoak(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("MINUTES"), 64)
	if err != nil {
		t.Skip("skipped: MINUTES says how long it goes on (make machines MINUTES=5)")
	}
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("SEED=%d", seed)
	s := newSoak(t, seed)
	began := time.Now()
	for i := 0; time.Since(began) < time.Duration(minutes*float64(time.Minute)); i++ {
		s.step(i, time.Since(began))
	}
	for h := range s.ends {
		s.heal(h)
	}
	s.rest()
	s.verdict(time.Since(began))
}

func newSoak(t *testing.T, seed uint64) *soak {
	l := newLab(t, 4, "")
	s := &soak{lab: l, desk: l.hosts[3], counts: map[string]int{}, taken: map[fika.AgentName][]time.Time{}, until: map[*host]time.Time{}, ends: map[*host]func(){}, rand: rand.New(rand.NewPCG(seed, 1))}
	for i, h := range l.hosts[:3] {
		h.add("config.toml", strings.ReplaceAll(`
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
`, "N", strconv.Itoa(i+1)))
		h.add("rules.toml", `[[rule]]
match = "work (?P<key>[a-z]+-[0-9]+)"
tool_calls = [{name = "bash", args = {command = "for i in 1 2 3 4 5; do echo {{.Group.key}} $(date +%s%N) >> effects; sleep 0.2; done"}}]
`)
	}
	s.desk.must("up")
	for _, h := range l.hosts[:3] {
		h.must("up")
	}
	s.desk.must("chat", "create", "room")
	return s
}

// agent returns one of the nine agents.
func (s *soak) any(kinds string) fika.AgentName {
	return fika.AgentName(fmt.Sprintf("%c%d", kinds[s.rand.IntN(len(kinds))], 1+s.rand.IntN(3)))
}

// step gives the agents something to do, answers what they ask, and sees to the troubles.
func (s *soak) step(i int, passed time.Duration) {
	switch {
	case i%3 == 0:
		s.desk.must("chat", "send", "room", fmt.Sprintf("@%s @%s hello %d", s.any("a"), s.any("bc"), i))
		s.counts["messages"]++
	case i%5 == 0:
		s.desk.must("board", "add", fmt.Sprintf("work task-%d", i), "--agent", string(s.any("b")), "--key", fmt.Sprintf("task %d", i))
		s.counts["tasks"]++
	default:
		id := fika.RequestID(fmt.Sprintf("ask-%d", i))
		_, err := s.db.Accept(s.Context(), store.NewRequest{ID: id, Kind: fika.AskRequest, Origin: fika.Queued, Agent: s.agent(s.any("abc")).ID, Payload: fika.Payload{Prompt: "work " + string(id), From: "ann", Writer: fika.ByHuman}})
		check(s.T, err)
		s.asked = append(s.asked, id)
	}
	if i%4 == 0 {
		s.approve()
	}
	for h, end := range s.until {
		if time.Now().After(end) {
			s.heal(h)
		}
	}
	s.lookAtLeases()
	if passed >= time.Duration(s.counts["troubles"]+1)*10*time.Second {
		h := s.hosts[s.rand.IntN(3)]
		list := troubles()
		if x := list[s.rand.IntN(len(list))]; s.ends[h] == nil {
			x.begin(h)
			s.until[h], s.ends[h] = time.Now().Add(x.long), func() { x.end(h) }
			s.Logf("%4.0f s: %s is %s", passed.Seconds(), h.name, x.name)
		}
		s.counts["troubles"]++
	}
	<-time.After(300 * time.Millisecond)
}

func (s *soak) heal(h *host) {
	end := s.ends[h]
	delete(s.ends, h)
	delete(s.until, h)
	end()
}

// approve allows everything that waits for a person.
func (s *soak) approve() {
	for line := range strings.Lines(s.desk.must("approve", "--json")) {
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

// lookAtLeases notes when the leases of the agents began.
func (s *soak) lookAtLeases() {
	rows, err := s.db.ListAgents(s.Context())
	check(s.T, err)
	for _, row := range rows {
		if known := s.taken[row.Name]; row.Owner != "" && !slices.Contains(known, row.StartedAt) {
			s.taken[row.Name] = append(known, row.StartedAt)
		}
	}
}

// rest waits until nothing is under way.
func (s *soak) rest() {
	for _, h := range s.hosts[:3] {
		h.begin("up")
	}
	s.lab.until("everything has ended", func() bool {
		s.approve()
		s.lookAtLeases()
		open := 0
		for _, what := range []string{"a request has no outcome", "a notification is not settled", "a task of the board has not ended", "an outcome was not published"} {
			open += len(s.find(never[what]))
		}
		return open == 0
	})
}

func (s *soak) verdict(took time.Duration) {
	for what, query := range never {
		for _, found := range s.find(query) {
			s.Errorf("%s: %s", what, found)
		}
	}
	for _, id := range s.asked {
		if r, err := s.db.Request(s.Context(), id); err != nil || !r.State.Terminal() {
			s.Errorf("lost: %s: %s, %v", id, r.State, err)
		}
	}
	lines := s.effects()
	ends := s.find(`SELECT kind || ' ' || state || ' ' || count(*) FROM requests GROUP BY kind, state ORDER BY 1`)
	s.Logf("%s: %v, %d asks, %d lines written by tools, %d leases; ended: %s", took.Round(time.Second), s.counts, len(s.asked), lines, s.leases(), strings.Join(ends, ", "))
	for _, bad := range s.find(`SELECT id || ' ' || state || ': ' || coalesce(outcome, '') FROM requests WHERE state NOT IN ('done')`) {
		s.Logf("not done: %.300s", bad)
	}
	sum, ledger := 0, 0
	for before := -1; before != ledger; { // a schedule may begin something in between
		before, sum = s.ledger(), 0
		for line := range strings.Lines(s.desk.must("usage", "--by", "agent", "--json")) {
			var u struct {
				Usage struct{ Input, Output int }
			}
			check(s.T, json.Unmarshal([]byte(line), &u))
			sum += u.Usage.Input + u.Usage.Output
		}
		ledger = s.ledger()
	}
	if sum != ledger {
		s.Errorf("fika usage comes to %d tokens, the ledger to %d", sum, ledger)
	}
}

func (s *soak) ledger() int {
	n, err := strconv.Atoi(s.find(`SELECT CAST(coalesce(sum(input + output), 0) AS TEXT) FROM usage`)[0])
	check(s.T, err)
	return n
}

func (s *soak) leases() (n int) {
	for _, list := range s.taken {
		n += len(list)
	}
	return n
}

// effects checks what the tools have written: nothing more than once, and nothing for an ask
// after another lease of its agent had begun than the one in which the tool was started. It
// returns how many lines there are.
func (s *soak) effects() (lines int) {
	for _, h := range s.hosts[:3] {
		files, _ := filepath.Glob(filepath.Join(h.home, "contexts", "*", "workspace", "effects"))
		for _, path := range files {
			data, err := os.ReadFile(path)
			check(s.T, err)
			written := map[string][]time.Time{}
			for line := range strings.Lines(string(data)) {
				key, stamp, _ := strings.Cut(strings.TrimSpace(line), " ")
				ns, _ := strconv.ParseInt(stamp, 10, 64)
				written[key] = append(written[key], time.Unix(0, ns))
				lines++
			}
			name := fika.AgentName(filepath.Base(filepath.Dir(filepath.Dir(path))))
			for key, times := range written {
				if len(times) > 5 {
					s.Errorf("doubled: %s has written %d lines for %s", name, len(times), key)
				}
				s.checkFence(name, key, times)
			}
		}
	}
	return lines
}

func (s *soak) checkFence(name fika.AgentName, key string, times []time.Time) {
	if !strings.HasPrefix(key, "ask-") {
		return
	}
	steps, err := s.db.Steps(s.Context(), fika.RequestID(key))
	check(s.T, err)
	for _, st := range steps {
		if st.Tool != "bash" {
			continue
		}
		for _, lease := range s.taken[name] {
			for _, at := range times {
				if lease.After(st.StartedAt) && at.After(lease.Add(200*time.Millisecond)) {
					s.Errorf("fenced: the tool of %s, started at %s, wrote at %s, %s after a new lease of %s had begun", key, st.StartedAt.Format(time.StampMilli), at.Format(time.StampMilli), at.Sub(lease), name)
				}
			}
		}
	}
}
