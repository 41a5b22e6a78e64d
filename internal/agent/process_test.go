package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/bustest"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/store/storetest"
	"fika/internal/tool"
	"fika/internal/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 5 * time.Minute

// screen is a display's writer that a test may read meanwhile.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// world is a process with a real store, a bus in memory and turns that the
// test carries out.
type world struct {
	*testing.T
	store *store.Store
	bus   *bustest.Bus
	agent fika.Agent
	lease store.Lease
	work  chan *shift
	out   screen
	p     *Process
	done  chan error
}

// shift is a turn that waits for the test.
type shift struct {
	c    store.Claimed
	ctx  context.Context
	stop <-chan struct{}
	end  chan fika.RequestState // Open hands it back
}

func newWorld(t *testing.T, change func(*Options)) *world {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: storetest.Fresh(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, store: s, bus: bustest.Memory(), work: make(chan *shift, 10), done: make(chan error, 1)}
	w.agent, err = s.EnsureAgent(t.Context(), store.NewAgent{Name: "coder"})
	w.ok(err)
	w.lease, err = s.Acquire(t.Context(), w.agent.ID, "1@here", time.Hour, true)
	w.ok(err)
	o := Options{
		Agent: w.agent, Lease: w.lease, Model: "m", Store: StoreOf(s), Bus: w.bus, Subjects: bus.Subjects{Prefix: "fika"},
		Work: w.turn, Display: NewDisplay(&w.out), Poll: 5 * time.Millisecond,
	}
	if change != nil {
		change(&o)
	}
	w.p = New(o)
	t.Cleanup(func() {
		w.ok(w.bus.Close())
		w.ok(s.Close())
	})
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// turn waits for what the test makes of a request.
func (w *world) turn(ctx context.Context, c store.Claimed, stop <-chan struct{}, o turn.Observer) (turn.Result, error) {
	s := &shift{c: c, ctx: ctx, stop: stop, end: make(chan fika.RequestState, 1)}
	o.Observe(turn.Event{Kind: turn.Started, Claimed: &c})
	w.work <- s
	var state fika.RequestState
	select {
	case state = <-s.end:
	case <-ctx.Done():
		state = fika.Cancelled
		if context.Cause(ctx) == turn.ErrStop {
			state = fika.Open
		}
	}
	res := turn.Result{State: state}
	if state == fika.Open {
		return res, w.store.HandBack(context.Background(), c.Fence)
	}
	done, err := w.store.Finish(context.Background(), c.Fence, store.Finish{State: state, Reason: "so it was", Outcome: fika.Outcome{Answer: "it is done"}})
	if err != nil {
		return turn.Result{}, err
	}
	res.Outcome = done.Request.Outcome
	o.Observe(turn.Event{Kind: turn.Ended, Claimed: &c, Outcome: &res})
	return res, nil
}

// run starts the process; the function it gives waits for its end.
func (w *world) run() func() error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { w.done <- w.p.Run(ctx) }()
	once := sync.OnceValue(func() error {
		cancel()
		return <-w.done
	})
	w.Cleanup(func() { _ = once() })
	return once
}

func (w *world) ask(id fika.RequestID) {
	w.Helper()
	_, err := w.store.Accept(context.Background(), store.NewRequest{ID: id, Kind: fika.AskRequest, Origin: fika.Queued, Agent: w.agent.ID, Payload: fika.Payload{Prompt: string(id)}})
	w.ok(err)
	w.ok(w.bus.Publish("fika.agent.coder.bell", nil))
}

func (w *world) next() *shift {
	w.Helper()
	select {
	case s := <-w.work:
		return s
	case <-time.After(patience):
		w.Fatal("no work came")
		return nil
	}
}

func (w *world) until(what string, is func() bool) {
	w.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); !is(); <-look.C {
		if time.Now().After(deadline) {
			w.Fatalf("still waiting for: %s", what)
		}
	}
}

func (w *world) state(id fika.RequestID) fika.RequestState {
	w.Helper()
	r, err := w.store.Request(context.Background(), id)
	w.ok(err)
	return r.State
}

func (w *world) untilState(id fika.RequestID, s fika.RequestState) {
	w.Helper()
	w.until(string(id)+" "+string(s), func() bool { return w.state(id) == s })
}

// end waits for the process to leave by itself.
func (w *world) left() error {
	w.Helper()
	select {
	case err := <-w.done:
		w.done <- err
		return err
	case <-time.After(patience):
		w.Fatal("the process stays")
		return nil
	}
}

// TestOneAtATimeInOrder: requests of one conversation are worked in the order
// of their acceptance.
func TestOneAtATimeInOrder(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxConcurrent = 3 })
	w.run()
	for _, id := range []fika.RequestID{"a", "b", "c"} {
		w.ask(id)
	}
	for _, id := range []fika.RequestID{"a", "b", "c"} {
		s := w.next()
		if s.c.Request.ID != id || len(w.work) != 0 {
			t.Fatalf("got %s in the place of %s, %d more", s.c.Request.ID, id, len(w.work))
		}
		s.end <- fika.Done
		w.untilState(id, fika.Done)
	}
}

// TestNeedsNoBus: without a bus work is found, done and, when it is back,
// announced once; the terminal says so with one line each.
func TestNeedsNoBus(t *testing.T) {
	w := newWorld(t, nil)
	heard := make(chan message.Response, 10)
	sub, err := w.bus.Peer().Subscribe("fika.agent.coder.response", func(m bus.Msg) {
		var r message.Response
		if json.Unmarshal(m.Data, &r) == nil {
			heard <- r
		}
	})
	w.ok(err)
	defer sub.Close()
	w.run()
	w.until("readiness", func() bool { return strings.Contains(w.out.String(), "Ready for requests...") })
	w.bus.Down()
	w.ask("a")
	w.next().end <- fika.Done
	w.untilState("a", fika.Done)
	w.until("a line", func() bool { return strings.Contains(w.out.String(), "[BUS reconnecting]") })
	w.bus.Up()
	if r := <-heard; r.RequestID != "a" || r.Status != "completed" || r.Result.Content != "it is done" {
		t.Errorf("%+v", r)
	}
	w.until("noted", func() bool {
		list, err := w.store.Unannounced(context.Background(), "", 10)
		return err == nil && len(list) == 0
	})
	if len(heard) != 0 {
		t.Errorf("announced again: %+v", <-heard)
	}
	if n := strings.Count(w.out.String(), "[BUS "); n != 2 {
		t.Errorf("%d lines about the bus:\n%s", n, &w.out)
	}
}

// TestStops: each wish is a column, and is obeyed without a message.
func TestStops(t *testing.T) {
	for _, tt := range []struct {
		wish fika.Desired
		want fika.RequestState
		do   func(*shift)
	}{
		{fika.DesiredStopped, fika.Open, func(s *shift) { <-s.stop; s.end <- fika.Open }},
		{fika.DesiredNow, fika.Open, func(s *shift) { <-s.ctx.Done() }},
		{fika.DesiredFinish, fika.Done, func(s *shift) {
			select {
			case <-s.stop:
				s.end <- fika.RequestFailed // it was cut short
			case <-time.After(50 * time.Millisecond): // ten looks at the wish
				s.end <- fika.Done
			}
		}},
	} {
		t.Run(string(tt.wish), func(t *testing.T) {
			w := newWorld(t, nil)
			w.run()
			w.ask("a")
			s := w.next()
			w.bus.Down()
			w.ok(w.store.SetDesired(t.Context(), w.agent.ID, tt.wish))
			tt.do(s)
			if err := w.left(); err != nil {
				t.Error(err)
			}
			if got := w.state("a"); got != tt.want {
				t.Errorf("the request is %s, want %s", got, tt.want)
			}
			w.ask("b")
			if w.state("b") != fika.Open {
				t.Error("it works on")
			}
		})
	}
}

// TestSignal: the end of the context, which is SIGTERM, hands back.
func TestSignal(t *testing.T) {
	w := newWorld(t, nil)
	end := w.run()
	w.ask("a")
	s := w.next()
	go func() { <-s.stop; s.end <- fika.Open }()
	if err := end(); err != nil {
		t.Error(err)
	}
	if w.state("a") != fika.Open {
		t.Errorf("the request is %s", w.state("a"))
	}
}

func TestCancelReachesTheTurn(t *testing.T) {
	w := newWorld(t, nil)
	w.run()
	w.ask("a")
	w.next()
	_, err := w.store.Cancel(t.Context(), "a", "changed my mind")
	w.ok(err)
	w.untilState("a", fika.Cancelled)
}

// glancing counts how a process claims.
type glancing struct {
	*store.Store
	looked, taken int
	depth         int // to which what was claimed last is limited
}

func (g *glancing) Claim(ctx context.Context, l store.Lease, limits store.Limits, worked func(fika.RequestID) bool) (*store.Claimed, error) {
	g.looked++
	return g.noted(limits)(g.Store.Claim(ctx, l, limits, worked))
}

func (g *glancing) ClaimNow(ctx context.Context, l store.Lease, limits store.Limits, worked func(fika.RequestID) bool) (*store.Claimed, error) {
	g.taken++
	return g.noted(limits)(g.Store.ClaimNow(ctx, l, limits, worked))
}

func (g *glancing) noted(limits store.Limits) func(*store.Claimed, error) (*store.Claimed, error) {
	return func(c *store.Claimed, err error) (*store.Claimed, error) {
		if c != nil {
			g.depth = limits.MaxDepth
		}
		return c, err
	}
}

// A process that is told of work does not look first whether there is any; once
// that is done it looks, and gives memory back when nothing more comes.
func TestToldOfWork(t *testing.T) {
	rested := make(chan struct{}, 100)
	g := &glancing{}
	w := newWorld(t, func(o *Options) {
		g.Store = o.Store.Queue.(*store.Store)
		o.Store, o.Rest = StoreOf(g), func() { rested <- struct{}{} }
	})
	w.ask("r1")
	stop := w.run()
	s := w.next()
	w.ok(w.bus.Publish("fika.agent.coder.bell", nil))
	s.end <- fika.Done
	w.untilState("r1", fika.Done)
	<-rested
	w.ok(stop())
	if g.looked == 0 || g.taken == 0 || len(rested) > 1 {
		t.Errorf("looked %d times, took %d times, rested %d times more", g.looked, g.taken, len(rested))
	}
}

// TestClaimsByTheSettingsOfNow: what a person has limited holds for whatever is claimed
// after that, however long it is until the next poll.
func TestClaimsByTheSettingsOfNow(t *testing.T) {
	var depth atomic.Int64
	g := &glancing{}
	w := newWorld(t, func(o *Options) {
		g.Store = o.Store.Queue.(*store.Store)
		o.Store, o.Poll, o.Settings = StoreOf(g), time.Hour, func() Settings { return Settings{Limits: store.Limits{MaxDepth: int(depth.Load())}} }
	})
	w.run()
	for _, want := range []int{7, 8} {
		depth.Store(int64(want))
		w.ask(fika.RequestID(strconv.Itoa(want)))
		s := w.next()
		if g.depth != want {
			t.Errorf("claimed with the limit %d, want %d", g.depth, want)
		}
		s.end <- fika.Done
	}
}

// forgetful commits its first claim and loses the answer.
type forgetful struct {
	*store.Store
	lost *store.Claimed
}

func (f *forgetful) Claim(ctx context.Context, l store.Lease, limits store.Limits, worked func(fika.RequestID) bool) (*store.Claimed, error) {
	return f.lose(f.Store.Claim(ctx, l, limits, worked))
}

func (f *forgetful) ClaimNow(ctx context.Context, l store.Lease, limits store.Limits, worked func(fika.RequestID) bool) (*store.Claimed, error) {
	return f.lose(f.Store.ClaimNow(ctx, l, limits, worked))
}

func (f *forgetful) lose(c *store.Claimed, err error) (*store.Claimed, error) {
	if err == nil && c != nil && f.lost == nil {
		f.lost = c
		return nil, fika.Errorf(fika.Storage, "claim", "the answer was lost")
	}
	return c, err
}

// TestClaimWhoseAnswerIsLost: what the process has claimed without knowing is
// worked all the same, by the same process.
func TestClaimWhoseAnswerIsLost(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Store = StoreOf(&forgetful{Store: o.Store.Queue.(*store.Store)}) })
	w.ask("r1")
	w.run()
	s := w.next()
	if s.c.Request.ID != "r1" || s.c.Request.Attempts != 2 {
		t.Fatalf("%+v", s.c.Request)
	}
	s.end <- fika.Done
	w.untilState("r1", fika.Done)
}

// TestLost: whoever lost the lease leaves, with that as the reason.
func TestLost(t *testing.T) {
	w := newWorld(t, nil)
	w.run()
	w.ask("a")
	w.next()
	_, err := w.store.Acquire(t.Context(), w.agent.ID, "2@here", time.Hour, true)
	w.ok(err)
	w.p.Lost(fika.Errorf(fika.Lost, "", "gone"))
	if err := w.left(); !fika.IsKind(err, fika.Lost) {
		t.Errorf("left with %v", err)
	}
}

func TestLeavesWhenIdle(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxIdle = 30 * time.Millisecond })
	w.ask("a")
	w.run()
	w.next().end <- fika.Done
	if err := w.left(); err != nil {
		t.Error(err)
	}
	if w.state("a") != fika.Done {
		t.Errorf("the request is %s", w.state("a"))
	}
}

// TestSigns: what changed is stored soon, once.
func TestSigns(t *testing.T) {
	signs := make(chan store.Beat, 100)
	var w *world
	w = newWorld(t, func(o *Options) { o.Sign = func(context.Context) { signs <- w.p.Beat() } })
	w.run()
	if b := <-signs; b.State != fika.AgentIdle {
		t.Errorf("first sign: %+v", b)
	}
	w.ask("a")
	w.next().end <- fika.Done
	for b := range signs {
		if b.Processed == 1 && b.State == fika.AgentIdle {
			break
		}
	}
}

// TestRemoteLooksTheSame: what attach shows is what the agent's own terminal
// shows.
func TestRemoteLooksTheSame(t *testing.T) {
	var near, far bytes.Buffer
	there := NewDisplay(&far)
	shown := make(chan struct{})
	w := newWorld(t, nil)
	sub, err := w.bus.Peer().Subscribe("fika.agent.coder.status", func(m bus.Msg) {
		var s message.Status
		if json.Unmarshal(m.Data, &s) == nil {
			there.Status(s)
			if s.Status == "completed" {
				close(shown)
			}
		}
	})
	w.ok(err)
	c := store.Claimed{Agent: w.agent, Request: fika.Request{ID: "r", Kind: fika.TaskRequest, Payload: fika.Payload{Prompt: "do it"}}}
	o := turn.Observers{newStatuses(w.p, c), NewDisplay(&near).Turn(c)}
	ok := turn.Result{State: fika.Done}
	for _, ev := range []turn.Event{
		{Kind: turn.Started}, {Kind: turn.Text, Text: "I will ", Round: 1}, {Kind: turn.Text, Text: "do it", Round: 1},
		{Kind: turn.Restarted, Round: 1, Text: "cut off"}, {Kind: turn.Text, Text: "I will", Round: 1},
		{Kind: turn.ToolCalled, Tool: "read", Args: json.RawMessage(`{"path":"a/b.go"}`), Round: 1},
		{Kind: turn.ToolDone, Tool: "read", Result: &tool.Result{Text: "one\ntwo"}, Round: 1},
		{Kind: turn.Warning, Text: "careful"}, {Kind: turn.Ended, Outcome: &ok},
	} {
		ev.Claimed = &c
		o.Observe(ev)
	}
	<-shown
	w.ok(sub.Close())
	if near.String() != far.String() || !strings.Contains(near.String(), "[TOOL: read] a/b.go\n[TOOL RESULT] one …\n") {
		t.Errorf("near:\n%s\nfar:\n%s", &near, &far)
	}
}
