package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 5 * time.Minute

// world is a hub with a real store, a bus in memory, and processes that are
// made up.
type world struct {
	*testing.T
	store *store.Store
	bus   *bustest.Bus
	procs *procs
	ready chan []Started
	hub   *Hub
	ended chan error
	home  atomic.Pointer[error] // what is wrong with it
	skew  time.Duration         // of the hub's clock
	mu    sync.Mutex
	end   func()
}

// procs are processes as the test says they are.
type procs struct {
	mu      sync.Mutex
	next    int
	spawned map[fika.AgentName]int
	alive   map[int]fika.AgentName
	exits   map[int]func(Exit)
	silent  map[fika.AgentName]time.Duration
	deaf    bool // nobody obeys Terminate
	busy    bool // nobody has finished
	told    []fika.Desired
	atStart func(name fika.AgentName, pid int) // what a process does
	killed  map[int]bool
}

func (p *procs) Spawn(name fika.AgentName, exited func(Exit)) (fika.Process, error) {
	p.mu.Lock()
	p.next++
	pid := p.next
	p.spawned[name]++
	p.alive[pid], p.exits[pid] = name, exited
	start := p.atStart
	p.mu.Unlock()
	if start != nil {
		start(name, pid)
	}
	return fika.Process{PID: pid}, nil
}

func (p *procs) Holder(name fika.AgentName) (fika.Process, time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pid, n := range p.alive {
		if n == name {
			return fika.Process{PID: pid}, p.silent[name], true
		}
	}
	return fika.Process{}, 0, false
}

func (p *procs) Alive(x fika.Process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.alive[x.PID]
	return ok
}

func (p *procs) Terminate(x fika.Process, how fika.Desired) {
	p.mu.Lock()
	deaf := p.deaf || p.busy && how == fika.DesiredFinish
	p.told = append(p.told, how)
	p.mu.Unlock()
	if !deaf {
		p.exit(x.PID, Exit{Reason: "exit status 0"})
	}
}

func (p *procs) Kill(x fika.Process) {
	p.mu.Lock()
	p.killed[x.PID] = true
	p.mu.Unlock()
	p.exit(x.PID, Exit{Code: -1, Reason: "signal: killed"})
}

func (p *procs) LastLines(fika.AgentName, int) string { return "famous last words" }

// exit ends a process, once.
func (p *procs) exit(pid int, x Exit) {
	p.mu.Lock()
	_, ok := p.alive[pid]
	delete(p.alive, pid)
	told := p.exits[pid]
	p.mu.Unlock()
	if ok && told != nil {
		go told(x) // as the goroutine that waits for a child does
	}
}

func (p *procs) count(name fika.AgentName) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spawned[name]
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: storetest.Fresh(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, store: s, bus: bustest.Memory(), ready: make(chan []Started, 1), procs: &procs{
		spawned: map[fika.AgentName]int{}, alive: map[int]fika.AgentName{}, exits: map[int]func(Exit){},
		silent: map[fika.AgentName]time.Duration{}, killed: map[int]bool{},
	}}
	t.Cleanup(func() {
		if w.end != nil {
			w.end()
		}
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

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.skew)
}

// later moves the hub's clock.
func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skew += d
}

func (w *world) agent(name fika.AgentName) fika.Agent {
	w.Helper()
	a, err := w.store.EnsureAgent(context.Background(), store.NewAgent{Name: name})
	w.ok(err)
	return a
}

// run starts the hub.
func (w *world) run(specs ...Spec) {
	w.Helper()
	w.runWith(func(*Options) {}, specs...)
}

// runWith starts a hub whose options are changed first.
func (w *world) runWith(change func(*Options), specs ...Spec) {
	w.Helper()
	for _, s := range specs {
		w.agent(s.Name)
	}
	o := Options{
		Store: StoreOf(w.store), Bus: w.bus, Subjects: bus.Subjects{Prefix: "fika"}, Processes: w.procs, Specs: specs,
		Log: slog.New(slog.DiscardHandler), Tick: 2 * time.Millisecond, Clean: 600 * time.Millisecond, Now: w.now, StopGrace: time.Second,
		Ready: func(list []Started) { w.ready <- list }, ReadyTimeout: time.Hour,
		Home: func() error {
			if err := w.home.Load(); err != nil {
				return *err
			}
			return nil
		},
	}
	change(&o)
	h := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	w.hub, w.ended = h, done
	w.end = func() {
		cancel()
		w.ok(<-done)
		w.end = nil
	}
}

// started waits until the hub is ready.
func (w *world) started() []Started {
	w.Helper()
	select {
	case list := <-w.ready:
		return list
	case <-time.After(patience):
		w.Fatal("the hub is not ready")
		return nil
	}
}

// over waits until the hub has ended by itself.
func (w *world) over() error {
	w.Helper()
	w.end = nil
	select {
	case err := <-w.ended:
		return err
	case <-time.After(patience):
		w.Fatal("the hub does not end")
		return nil
	}
}

func (w *world) until(what string, is func() bool) {
	w.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); !is(); <-look.C {
		if time.Now().After(deadline) {
			w.Fatalf("still waiting for: %s; %+v", what, w.agent("coder"))
		}
	}
}

func (w *world) beat(name fika.AgentName, pid int) {
	data, err := json.Marshal(message.Heartbeat{Type: message.TypeHeartbeat, AgentName: string(name), Status: "idle", PID: pid})
	w.ok(err)
	w.ok(w.bus.Publish("fika.agent."+string(name)+".heartbeat", data))
}

var persistent = Spec{Name: "coder", AutoStart: true, Persistent: true, Wake: true}

func TestReadyWhenAllHaveSpoken(t *testing.T) {
	w := newWorld(t)
	w.procs.atStart = func(name fika.AgentName, pid int) {
		if name == "broken" {
			go w.procs.exit(pid, Exit{Code: exitInvalid, Reason: "exit status 2"})
		}
	}
	w.run(persistent, Spec{Name: "broken", AutoStart: true}, Spec{Name: "lazy", Wake: true})
	w.until("a start", func() bool { return w.procs.count("coder") == 1 })
	select {
	case list := <-w.ready:
		t.Fatalf("ready before a sign of life: %+v", list)
	default:
	}
	var list []Started
	w.until("ready", func() bool {
		w.beat("coder", 12345) // of a process from before
		w.beat("coder", 1)
		w.beat("coder", 2) // as a process does, again and again: the hub may not know of it yet
		select {
		case list = <-w.ready:
			return true
		default:
			return false
		}
	})
	if len(list) != 2 || list[0].Name != "coder" || !list[0].OK || list[1].OK || list[1].Error != "it cannot start: exit status 2; its log ends: famous last words" {
		t.Errorf("ready: %+v", list)
	}
	if n := w.procs.count("broken"); n != 1 {
		t.Errorf("what cannot start was started %d times", n)
	}
	w.end()
	if len(w.procs.alive) != 0 {
		t.Errorf("left: %v", w.procs.alive)
	}
}

func TestReadyAboutOneStoppedByHand(t *testing.T) {
	w := newWorld(t)
	w.ok(w.store.SetDesired(t.Context(), w.agent("coder").ID, fika.DesiredFinish))
	w.run(persistent)
	if list := w.started(); len(list) != 0 {
		t.Errorf("ready: %+v", list)
	}
	w.until("a plain wish", func() bool { return w.agent("coder").Desired == fika.DesiredStopped })
	if n := w.procs.count("coder"); n != 0 {
		t.Errorf("started %d times", n)
	}
}

// TestCrashLoop: six crashes within a minute are enough; a person starts it
// again.
func TestCrashLoop(t *testing.T) {
	w := newWorld(t)
	w.procs.atStart = func(_ fika.AgentName, pid int) { go w.procs.exit(pid, Exit{Code: 1, Reason: "exit status 1"}) }
	w.run(persistent)
	for n := 1; n <= budget; n++ {
		w.until(fmt.Sprint(n, " crashes"), func() bool { return w.procs.count("coder") == n && w.agent("coder").State == fika.AgentUnhealthy })
		w.later(longDelay)
	}
	w.until("given up", func() bool { return w.agent("coder").State == fika.AgentFailed })
	if why := w.agent("coder").StateReason; !strings.Contains(why, "fika agent start coder") {
		t.Errorf("given up without the command that helps: %s", why)
	}
	w.later(time.Hour)
	w.ok(w.bus.Publish("fika.hub.bell", nil))
	if n := w.procs.count("coder"); n != budget+1 {
		t.Errorf("started %d times", n)
	}
	w.procs.mu.Lock()
	w.procs.atStart = nil
	w.procs.mu.Unlock()
	w.ok(w.store.SetDesired(t.Context(), w.agent("coder").ID, fika.DesiredRunning))
	w.until("started by hand", func() bool { return w.procs.count("coder") == budget+2 })
}

// TestCrashesLongAgo do not count.
func TestCrashesLongAgo(t *testing.T) {
	w := newWorld(t)
	w.procs.atStart = func(_ fika.AgentName, pid int) { go w.procs.exit(pid, Exit{Code: 1}) }
	w.run(persistent)
	for n := range 3 * budget {
		w.until("a crash", func() bool { return w.procs.count("coder") == n+1 && w.agent("coder").State == fika.AgentUnhealthy })
		w.later(budgetSpan)
	}
}

func TestBeingLockedOutIsNoCrash(t *testing.T) {
	w := newWorld(t)
	w.procs.atStart = func(_ fika.AgentName, pid int) { go w.procs.exit(pid, Exit{Code: exitLocked}) }
	w.run(persistent)
	for n := range 3 * budget {
		w.until("another try", func() bool { return w.procs.count("coder") == n+1 })
		w.later(calmDelay)
	}
	if a := w.agent("coder"); a.State == fika.AgentFailed {
		t.Errorf("%+v", a)
	}
}

// TestAdopts: a process that is there is the agent; when it goes without a
// word it has crashed, when it gave its lease back it has left.
func TestAdopts(t *testing.T) {
	w := newWorld(t)
	a := w.agent("coder")
	lease, err := w.store.Acquire(t.Context(), a.ID, "77@here", time.Hour, true)
	w.ok(err)
	w.procs.alive[77] = "coder"
	w.procs.next = 100
	w.run(persistent)
	w.ok(w.store.Renew(t.Context(), lease, time.Hour, store.Beat{State: fika.AgentIdle}))
	if list := w.started(); len(list) != 1 || list[0].PID != 77 || !list[0].OK {
		t.Errorf("ready: %+v", list)
	}
	if n := w.procs.count("coder"); n != 0 {
		t.Errorf("started %d more", n)
	}
	w.procs.exit(77, Exit{})
	w.until("a crash", func() bool { return w.agent("coder").State == fika.AgentUnhealthy || w.procs.count("coder") == 1 })
	w.until("a start", func() bool { w.later(time.Second); return w.procs.count("coder") == 1 })
}

// TestHung: only silence on both sides ends a process.
func TestHung(t *testing.T) {
	w := newWorld(t)
	w.run(persistent)
	w.until("a start", func() bool { return w.procs.count("coder") == 1 })
	lease, err := w.store.Acquire(t.Context(), w.agent("coder").ID, "1@here", time.Hour, true)
	w.ok(err)
	set := func(d time.Duration) {
		w.procs.mu.Lock()
		w.procs.silent["coder"] = d
		w.procs.mu.Unlock()
	}
	set(time.Hour) // the lock is silent, the lease is not
	w.ok(w.store.Renew(t.Context(), lease, time.Hour, store.Beat{State: fika.AgentIdle}))
	w.bus.Down() // nor has the bus a say
	w.later(80 * time.Second)
	w.until("a tick", func() bool { return w.procs.Alive(fika.Process{PID: 1}) })
	w.until("an end", func() bool { w.later(time.Second); return !w.procs.Alive(fika.Process{PID: 1}) })
	set(0)
	w.until("a start", func() bool { w.later(time.Second); return w.procs.count("coder") == 2 })
}

// TestDeaf: who does not leave is ended.
func TestDeaf(t *testing.T) {
	w := newWorld(t)
	w.procs.deaf = true
	w.run(persistent)
	w.until("a start", func() bool { return w.procs.count("coder") == 1 })
	w.ok(w.store.SetDesired(t.Context(), w.agent("coder").ID, fika.DesiredStopped))
	w.until("an end", func() bool { w.later(100 * time.Millisecond); return !w.procs.Alive(fika.Process{PID: 1}) })
	w.until("stopped", func() bool { return w.agent("coder").State == fika.AgentStopped })
	if !w.procs.killed[1] || w.procs.count("coder") != 1 {
		t.Errorf("killed %v, started %d", w.procs.killed, w.procs.count("coder"))
	}
}

// TestWakes: work starts an agent that may be woken, and no other.
func TestWakes(t *testing.T) {
	w := newWorld(t)
	w.run(Spec{Name: "coder", Wake: true}, Spec{Name: "manual"})
	w.agent("mere")
	for _, n := range []fika.AgentName{"mere", "manual", "coder"} {
		_, err := w.store.Accept(t.Context(), store.NewRequest{Kind: fika.TaskRequest, Origin: fika.Queued, Agent: w.agent(n).ID, Payload: fika.Payload{Prompt: "x"}})
		w.ok(err)
	}
	w.until("a start", func() bool { return w.procs.count("coder") == 1 })
	if w.procs.count("mere")+w.procs.count("manual") != 0 {
		t.Errorf("started: %v", w.procs.spawned)
	}
}

// TestRung: a bell makes the hub look only if nobody else hears it.
func TestRung(t *testing.T) {
	w := newWorld(t)
	h := New(Options{Store: StoreOf(w.store), Bus: w.bus, Subjects: bus.Subjects{Prefix: "fika"}, Processes: w.procs, Log: slog.New(slog.DiscardHandler)})
	there, err := w.procs.Spawn("adopted", nil)
	w.ok(err)
	h.supervisor.agents = map[fika.AgentName]*supervised{
		"child":   {running: true, child: true},
		"adopted": {running: true, proc: there},
		"killed":  {running: true, proc: fika.Process{PID: 99}},
		"asleep":  {},
	}
	for name, want := range map[fika.AgentName]int{"child": 0, "adopted": 0, "killed": 1, "asleep": 1, "unknown": 1} {
		h.supervisor.onWakeUp(name)
		if got := len(h.wakeUps); got != want {
			t.Errorf("%s: looks %d times, want %d", name, got, want)
		}
		for len(h.wakeUps) > 0 {
			<-h.wakeUps
		}
	}
}

// TestAnnounces: the outcome of an agent that is gone reaches the bus, once.
func TestAnnounces(t *testing.T) {
	w := newWorld(t)
	heard := make(chan string, 10)
	sub, err := w.bus.Peer().Subscribe("fika.agent.coder.response", func(m bus.Msg) { heard <- string(m.Data) })
	w.ok(err)
	defer sub.Close()
	r, err := w.store.Accept(t.Context(), store.NewRequest{ID: "r-1", Kind: fika.TaskRequest, Origin: fika.Queued, Agent: w.agent("coder").ID, Payload: fika.Payload{Prompt: "x"}})
	w.ok(err)
	w.bus.Down()
	_, err = w.store.Cancel(t.Context(), r.Request.ID, "")
	w.ok(err)
	w.run()
	w.started()
	w.bus.Up()
	var got message.Response
	w.ok(json.Unmarshal([]byte(<-heard), &got))
	if got.RequestID != "r-1" || got.Status != "cancelled" {
		t.Errorf("%+v", got)
	}
	w.until("noted", func() bool {
		list, err := w.store.Unannounced(t.Context(), "", 10)
		return err == nil && len(list) == 0
	})
	if len(heard) != 0 {
		t.Errorf("announced again: %s", <-heard)
	}
}

// TestTwoStores: a hub of another store on the same subjects is refused.
func TestTwoStores(t *testing.T) {
	w := newWorld(t)
	sub, err := w.bus.Peer().Subscribe("fika.hub.store", func(m bus.Msg) { _ = m.Respond([]byte("another")) })
	w.ok(err)
	defer sub.Close()
	h := New(Options{Store: StoreOf(w.store), Bus: w.bus, Subjects: bus.Subjects{Prefix: "fika"}, Processes: w.procs, StoreID: "mine", Log: slog.New(slog.DiscardHandler)})
	if err := h.Run(t.Context()); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("error %v", err)
	}
}

// TestShutdown: agents that finish their requests have the time they need;
// whoever asks again may be stricter.
func TestShutdown(t *testing.T) {
	w := newWorld(t)
	w.procs.busy = true
	w.run(persistent)
	w.until("a start", func() bool { return w.procs.count("coder") == 1 })
	w.hub.Shutdown(fika.DesiredFinish)
	told := func(how ...fika.Desired) func() bool {
		return func() bool {
			w.procs.mu.Lock()
			defer w.procs.mu.Unlock()
			got := slices.Compact(slices.Clone(w.procs.told))
			return slices.Equal(got, how)
		}
	}
	w.until("the agent to be told", told(fika.DesiredFinish))
	w.later(time.Hour)
	w.ok(w.bus.Publish("fika.hub.bell", nil))
	if len(w.procs.killed) != 0 || w.procs.count("coder") != 1 {
		t.Errorf("killed %v, started %d times", w.procs.killed, w.procs.count("coder"))
	}
	w.hub.Shutdown(fika.DesiredNow)
	w.ok(w.over())
	if !told(fika.DesiredFinish, fika.DesiredNow)() {
		t.Errorf("told %v", w.procs.told)
	}
	if a := w.agent("coder"); a.Desired != fika.DesiredNone {
		t.Errorf("desired: %q", a.Desired)
	}
}

// TestHomeGone: a hub does not outlive its home, nor do its agents.
func TestHomeGone(t *testing.T) {
	w := newWorld(t)
	w.run(persistent)
	w.until("a start", func() bool { return w.procs.count("coder") == 1 })
	gone := error(fika.Errorf(fika.Storage, "hub", "gone"))
	w.home.Store(&gone)
	if err := w.over(); err != gone {
		t.Errorf("ended with %v", err)
	}
	if len(w.procs.alive) != 0 {
		t.Errorf("left: %v", w.procs.alive)
	}
}

// TestC3 has an agent stopped and wished for again before its old process has
// gone (fika agent restart): the end of that process takes nothing back.
func TestC3AWishOutlivesTheProcessBeforeIt(t *testing.T) {
	w := newWorld(t)
	w.run(Spec{Name: "coder"})
	id := w.agent("coder").ID
	w.ok(w.store.SetDesired(t.Context(), id, fika.DesiredRunning))
	w.until("a start", func() bool { return w.procs.count("coder") == 1 })
	w.ok(w.store.SetDesired(t.Context(), id, fika.DesiredRunning)) // what restart wrote last
	w.procs.exit(1, Exit{Reason: "exit status 0"})
	w.until("its end", func() bool { return w.agent("coder").State == fika.AgentStopped })
	w.later(calmDelay)
	w.until("the next start", func() bool { return w.procs.count("coder") == 2 })
	if d := w.agent("coder").Desired; d != fika.DesiredRunning {
		t.Errorf("what is wanted became %q", d)
	}
}
