package storetest

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fika"
	"fika/internal/store"
)

// model is what a random run knows about the store that it exercises.
type model struct {
	*store.Store
	ctx      context.Context
	clock    *Clock
	limits   store.Limits
	names    []fika.AgentName
	leases   []store.Lease
	rooms    []fika.Conversation
	running  []store.Claimed
	rounds   map[fika.RequestID]int
	outcomes map[fika.RequestID]fika.RequestState
}

// testProperties runs random operations in random order and checks that nothing
// accepted is lost, nothing ends twice, and every transcript is whole.
func testProperties(t *testing.T, open Open) {
	if testing.Short() { // rapid then runs a fifth of the checks
		_ = flag.Set("rapid.checks", "40")
	}
	rapid.Check(t, func(rt *rapid.T) {
		clock := NewClock()
		s := open(t, clock)
		defer s.Close()
		m := &model{
			Store: s, ctx: t.Context(), clock: clock, limits: store.Limits{MaxTurns: 8, MaxDepth: 4},
			rounds: map[fika.RequestID]int{}, outcomes: map[fika.RequestID]fika.RequestState{},
		}
		m.setUp(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"post": m.post, "accept": m.accept, "claim": m.claim, "model": m.model, "tool": m.tool,
			"finish": m.finish, "suspend": m.suspend, "delegate": m.delegate, "await": m.await, "hand back": m.handBack, "crash": m.crash,
			"cancel": m.cancel, "retry": m.retry, "pause": m.pause, "stop": m.stop, "continue": m.goOn, "set limits": m.setLimits, "pass time": m.passTime,
			"": m.check,
		})
		m.drain(rt)
	})
}

func (m *model) do(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (m *model) setUp(t *rapid.T) {
	for _, name := range []fika.AgentName{"a", "b"} {
		a, err := m.EnsureAgent(m.ctx, store.NewAgent{Name: name})
		m.do(t, err)
		l, err := m.Acquire(m.ctx, a.ID, "p", time.Hour, true)
		m.do(t, err)
		m.names, m.leases = append(m.names, name), append(m.leases, l)
	}
	for _, name := range []fika.ConversationName{"room", "hall"} {
		c, err := m.CreateChat(m.ctx, name)
		m.do(t, err)
		m.rooms = append(m.rooms, c)
	}
}

func (m *model) post(t *rapid.T) {
	var notify []fika.AgentName
	for _, n := range m.names {
		if rapid.Bool().Draw(t, "notify "+string(n)) {
			notify = append(notify, n)
		}
	}
	_, err := m.Post(m.ctx, store.Post{
		Conversation: rapid.SampledFrom(m.rooms).Draw(t, "room").ID, From: "ann", Writer: fika.ByHuman, Content: "x", Notify: notify,
	})
	m.do(t, err)
}

func (m *model) accept(t *rapid.T) {
	kind := rapid.SampledFrom([]fika.RequestKind{fika.AskRequest, fika.TaskRequest, fika.RunRequest}).Draw(t, "kind")
	l := rapid.SampledFrom(m.leases).Draw(t, "agent")
	_, err := m.Accept(m.ctx, store.NewRequest{Kind: kind, Agent: l.Agent, Payload: fika.Payload{Prompt: "x"}})
	m.do(t, err)
}

func (m *model) claim(t *rapid.T) {
	l := rapid.SampledFrom(m.leases).Draw(t, "agent")
	c, err := m.Claim(m.ctx, l, m.limits, nil)
	m.do(t, err)
	if c != nil {
		m.running = append(m.running, *c)
	}
}

// pick returns one of the running turns, or skips.
func (m *model) pick(t *rapid.T) store.Claimed {
	if len(m.running) == 0 {
		t.Skip("nothing runs")
	}
	return m.running[rapid.IntRange(0, len(m.running)-1).Draw(t, "turn")]
}

func (m *model) gone(id fika.RequestID) {
	for i, c := range m.running {
		if c.Request.ID == id {
			m.running = append(m.running[:i], m.running[i+1:]...)
			return
		}
	}
}

func (m *model) model(t *rapid.T) {
	c := m.pick(t)
	m.rounds[c.Request.ID]++
	mc := store.ModelCommit{Round: m.rounds[c.Request.ID], Text: "hm"}
	for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
		mc.Calls = append(mc.Calls, store.PlannedCall{CallID: fmt.Sprint(i), Tool: "t", Effect: fika.Unsafe})
	}
	_, err := m.CommitModel(m.ctx, c.Fence, mc)
	m.do(t, err)
}

func (m *model) tool(t *rapid.T) {
	c := m.pick(t)
	steps, err := m.Steps(m.ctx, c.Request.ID)
	m.do(t, err)
	for _, s := range steps {
		switch {
		case s.Kind != fika.ToolStep:
		case s.State == fika.StepPlanned:
			_, err := m.BeginTool(m.ctx, c.Fence, s.N, "", "")
			m.do(t, err)
			return
		case s.State == fika.StepStarted:
			_, err := m.CommitTool(m.ctx, c.Fence, s.N, store.ToolCommit{Text: "r"})
			m.do(t, err)
			return
		}
	}
	t.Skip("no step to work")
}

func (m *model) finish(t *rapid.T) {
	c := m.pick(t)
	f := store.Finish{State: rapid.SampledFrom([]fika.RequestState{
		fika.Done, fika.Done, fika.Done, fika.RequestFailed, fika.Cancelled, fika.Dead,
	}).Draw(t, "outcome"), Limits: m.limits}
	if f.State == fika.Done {
		f.Final = &store.ModelCommit{Round: 1000, Text: "ok"}
		if rapid.Bool().Draw(t, "mentions") {
			f.Notify = m.names
			f.Echo = rapid.IntRange(0, 4).Draw(t, "echo") == 0
		}
	}
	_, err := m.Finish(m.ctx, c.Fence, f)
	m.do(t, err)
	m.gone(c.Request.ID)
	if _, err := m.Finish(m.ctx, c.Fence, f); !fika.IsKind(err, fika.Lost) {
		t.Fatalf("a second outcome gave %v", err)
	}
}

func (m *model) suspend(t *rapid.T) {
	c := m.pick(t)
	reason := rapid.SampledFrom([]fika.WaitReason{fika.WaitPause, fika.WaitChild, fika.WaitApproval}).Draw(t, "reason")
	m.do(t, m.Suspend(m.ctx, c.Fence, reason, m.clock.Now().Add(time.Minute)))
	m.gone(c.Request.ID)
}

// delegate gives the planned steps of a turn to random agents.
func (m *model) delegate(t *rapid.T) {
	c := m.pick(t)
	steps, err := m.Steps(m.ctx, c.Request.ID)
	m.do(t, err)
	var list []store.Delegation
	for _, s := range steps {
		if s.State == fika.StepPlanned {
			d := time.Duration(rapid.IntRange(1, 100).Draw(t, "deadline")) * time.Second
			list = append(list, store.Delegation{N: s.N, Agent: rapid.SampledFrom(m.leases).Draw(t, "agent").Agent, Prompt: "x", Deadline: d})
		}
	}
	if len(list) == 0 {
		t.Skip("no step to delegate")
	}
	got, err := m.Delegate(m.ctx, c.Fence, list)
	m.do(t, err)
	if got.Signal == (store.Signal{}) && len(got.Children)+len(got.Refused) != len(list) {
		t.Fatalf("of %d: %d made, %d refused", len(list), len(got.Children), len(got.Refused))
	}
	if len(got.Children) > 0 {
		m.gone(c.Request.ID)
	}
}

func (m *model) await(t *rapid.T) {
	c := m.pick(t)
	got, err := m.Await(m.ctx, c.Fence)
	m.do(t, err)
	if got.Waiting {
		m.gone(c.Request.ID)
	}
}

func (m *model) handBack(t *rapid.T) {
	c := m.pick(t)
	m.do(t, m.HandBack(m.ctx, c.Fence))
	m.gone(c.Request.ID)
}

// crash gives an agent a new owner, which recovers its requests.
func (m *model) crash(t *rapid.T) {
	i := rapid.IntRange(0, len(m.leases)-1).Draw(t, "agent")
	l, err := m.Acquire(m.ctx, m.leases[i].Agent, "p", time.Hour, true)
	m.do(t, err)
	m.leases[i] = l
	rec, err := m.Recover(m.ctx, l)
	m.do(t, err)
	var left []store.Claimed
	for _, c := range m.running {
		if c.Request.Agent != l.Agent {
			left = append(left, c)
		}
	}
	m.running = append(left, rec.Claimed...)
}

func (m *model) anyRequest(t *rapid.T, states ...fika.RequestState) fika.RequestID {
	all, err := m.ListRequests(m.ctx, store.RequestFilter{States: states})
	m.do(t, err)
	if len(all) == 0 {
		t.Skip("no such request")
	}
	return all[rapid.IntRange(0, len(all)-1).Draw(t, "request")].ID
}

func (m *model) cancel(t *rapid.T) {
	_, err := m.Cancel(m.ctx, m.anyRequest(t), "test")
	m.do(t, err)
}

func (m *model) retry(t *rapid.T) {
	_, err := m.Retry(m.ctx, m.anyRequest(t, fika.RequestFailed, fika.Cancelled, fika.Dead, fika.StateInterrupted))
	if !fika.IsKind(err, fika.Conflict) {
		m.do(t, err)
	}
}

func (m *model) pause(t *rapid.T) {
	_, err := m.SetPaused(m.ctx, rapid.SampledFrom(m.rooms).Draw(t, "room").ID, rapid.Bool().Draw(t, "paused"))
	m.do(t, err)
	_, err = m.SetAllPaused(m.ctx, rapid.IntRange(0, 9).Draw(t, "all") == 0)
	m.do(t, err)
}

func (m *model) stop(t *rapid.T) {
	_, err := m.StopChat(m.ctx, rapid.SampledFrom(m.rooms).Draw(t, "room").ID, "")
	m.do(t, err)
}

func (m *model) goOn(t *rapid.T) {
	_, err := m.ContinueChain(m.ctx, rapid.SampledFrom(m.rooms).Draw(t, "room").ID)
	if !fika.IsKind(err, fika.NotFound) {
		m.do(t, err)
	}
}

func (m *model) setLimits(t *rapid.T) {
	turns := rapid.Int64Range(0, 5).Draw(t, "turns")
	m.do(t, m.SetLimits(m.ctx, rapid.SampledFrom(m.rooms).Draw(t, "room").ID, fika.ChainLimits{Turns: &turns}))
}

func (m *model) passTime(t *rapid.T) {
	m.clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
}

// check verifies what must hold after every step: a finished request never changes,
// an agent has at most one turn under way in a conversation, nothing delegated
// survives an end without an answer, and nobody waits for themselves.
func (m *model) check(t *rapid.T) {
	all, err := m.ListRequests(m.ctx, store.RequestFilter{})
	m.do(t, err)
	m.checkFamilies(t, all)
	busy := map[string]bool{}
	for _, r := range all {
		if was, ended := m.outcomes[r.ID]; ended && was != r.State {
			t.Fatalf("request %s was %s and is %s", r.ID, was, r.State)
		}
		if r.State.Terminal() {
			m.outcomes[r.ID] = r.State
		}
		if r.State == fika.Running || r.State == fika.Waiting {
			key := string(r.Agent) + " " + string(r.Conversation)
			if busy[key] {
				t.Fatalf("two turns of one agent in one conversation: %s", key)
			}
			busy[key] = true
		}
	}
}

func (m *model) checkFamilies(t *rapid.T, all []store.RequestInfo) {
	byID := map[fika.RequestID]store.RequestInfo{}
	for _, r := range all {
		byID[r.ID] = r
	}
	for _, r := range all {
		p, ok := byID[r.Parent]
		if ok && p.State.Terminal() && p.State != fika.Done && !r.State.Terminal() && r.CancelAt.IsZero() {
			t.Fatalf("%s is %s, and %s, which it delegated, %s", p.ID, p.State, r.ID, r.State)
		}
		for ; ok; p, ok = byID[p.Parent] {
			if p.Agent == r.Agent {
				t.Fatalf("%s works for %s, which is its own agent's", r.ID, p.ID)
			}
		}
	}
}

// drain finishes all the work there is and checks what must hold at rest.
func (m *model) drain(t *rapid.T) {
	_, err := m.SetAllPaused(m.ctx, false)
	m.do(t, err)
	for _, c := range m.rooms {
		_, err := m.SetPaused(m.ctx, c.ID, false)
		m.do(t, err)
	}
	m.clock.Advance(time.Hour)
	for {
		for _, c := range m.running {
			_, err := m.Finish(m.ctx, c.Fence, store.Finish{State: fika.Done})
			m.do(t, err)
		}
		m.running = nil
		for _, l := range m.leases {
			c, err := m.Claim(m.ctx, l, m.limits, nil)
			m.do(t, err)
			if c != nil {
				m.running = append(m.running, *c)
			}
		}
		if len(m.running) == 0 {
			break
		}
	}
	m.check(t)
	m.atRest(t)
}

func (m *model) atRest(t *rapid.T) {
	work, err := m.WithWork(m.ctx)
	m.do(t, err)
	if len(work) > 0 {
		t.Fatalf("work is left: %+v", work)
	}
	requests, err := m.ListRequests(m.ctx, store.RequestFilter{})
	m.do(t, err)
	for _, r := range requests {
		if !r.State.Terminal() {
			t.Fatalf("request %s is %s at rest", r.ID, r.State)
		}
	}
	infos, err := m.ListConversations(m.ctx, store.ConversationFilter{})
	m.do(t, err)
	for _, c := range infos {
		if c.Pending > 0 {
			t.Fatalf("%d notifications of %s never settled", c.Pending, c.Name)
		}
		entries, err := m.Entries(m.ctx, store.EntryQuery{Conversation: c.ID})
		m.do(t, err)
		if err := whole(entries); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if c.LastSeq != int64(len(entries)) {
			t.Fatalf("%s has %d entries and last seq %d", c.Name, len(entries), c.LastSeq)
		}
	}
}
