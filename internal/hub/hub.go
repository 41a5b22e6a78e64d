package hub

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/report/outcome"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

// Store is what the hub needs of the store, grouped by use: see [StoreOf].
type Store struct {
	Directory Directory
	Leases    Leases
	Messages  Messages
	Care      Care
	Board     Board
	Outcomes  outcome.Announcements
}

// StoreOf returns a Store in which s does everything.
func StoreOf(s interface {
	Directory
	Leases
	Messages
	Care
	Board
	outcome.Announcements
}) Store {
	return Store{Directory: s, Leases: s, Messages: s, Care: s, Board: s, Outcomes: s}
}

// Directory knows the agents, their desired states and their work.
type Directory interface {
	Agent(context.Context, fika.AgentName) (fika.Agent, error)
	ListAgents(context.Context) ([]fika.Agent, error)
	ReplaceDesired(ctx context.Context, id fika.AgentID, from, to fika.Desired) error
	SetState(ctx context.Context, id fika.AgentID, s fika.AgentState, reason string) error
	ListRequests(context.Context, store.RequestFilter) ([]store.RequestInfo, error)
	ListJobs(context.Context, store.JobFilter) ([]store.Job, error)
}

// Leases are what the processes of agents hold.
type Leases interface {
	ListIdle(context.Context) ([]store.Idle, error)
	RenewIdle(ctx context.Context, leases []store.LeaseID, d time.Duration) ([]store.LeaseID, error)
}

// Messages is what is needed to answer other programs.
type Messages interface {
	Request(context.Context, fika.RequestID) (store.RequestInfo, error)
	Announceable(context.Context, fika.RequestID) (store.RequestInfo, error)
	ParkMessage(ctx context.Context, subject string, body []byte, reason string) error
}

// Care is the work that nobody else does.
type Care interface {
	WithWork(context.Context) ([]store.Work, error)
	HandOver(context.Context, store.HandOver) (store.HandedOver, error)
	Expire(context.Context) ([]fika.RequestID, error)
	Cleanup(context.Context, store.CleanupOptions) (store.CleanupResult, error)
	ResumeLapsed(context.Context) ([]store.LapsedPause, error)
	IndexWords(ctx context.Context, batches int) error
	Prune(ctx context.Context, batches int) error
}

// Board is the list of tasks from which agents take.
type Board interface {
	Claimable(ctx context.Context, limit int) ([]store.TaskInfo, error)
	AtTasks(context.Context) (map[fika.AgentID]int, error)
	OpenLapsed(ctx context.Context, patience time.Duration) ([]fika.TaskNumber, error)
}

// Processes starts and watches agent processes.
type Processes interface {
	// Spawn starts the agent's process. exited is called once, from another goroutine,
	// when the process has ended.
	Spawn(name fika.AgentName, exited func(Exit)) (fika.Process, error)
	// Holder returns the agent process that holds the context's lock, if there is one,
	// and how long it has given no sign of life.
	Holder(name fika.AgentName) (p fika.Process, silent time.Duration, held bool)
	Alive(fika.Process) bool
	// Terminate asks the process to leave: after its current step (DesiredStopped),
	// after its current requests (DesiredFinish), or without finishing its step
	// (DesiredNow). Kill ends its group at once. Both do nothing if the pid now belongs
	// to another process.
	Terminate(p fika.Process, how fika.Desired)
	Kill(fika.Process)
	// LastLines returns the end of the agent's log.
	LastLines(name fika.AgentName, n int) string
}

// Exit says how a child process ended.
type Exit struct {
	Code   int
	Reason string // "exit status 2", "signal: killed"
}

// Spec is what the configuration says about an agent that the hub may start.
type Spec struct {
	Name       fika.AgentName
	AutoStart  bool
	Persistent bool
	Wake       bool
	Board      *limit.Board     // which tasks of the board it takes; nil: none
	Backup     []fika.AgentName // stand-ins in order; the first able one takes over
	RunOn      []string         // where it may run: see [Sharing.Fits]
	// Members are the members of a pool on this host. The pool has no process; each member has its
	// own Spec.
	Members []fika.AgentName
	Team    []fika.AgentName // all members of a pool that has some on other hosts; nil: it has none there
	Lent    bool             // the pool itself is another host's
}

func (s Spec) same(o Spec) bool {
	return s.Name == o.Name && s.AutoStart == o.AutoStart && s.Persistent == o.Persistent && s.Wake == o.Wake && reflect.DeepEqual(s.Board, o.Board) && slices.Equal(s.Backup, o.Backup) && slices.Equal(s.RunOn, o.RunOn) && slices.Equal(s.Members, o.Members) && slices.Equal(s.Team, o.Team) && s.Lent == o.Lent
}

// Options holds everything that a hub depends on.
type Options struct {
	Store    Store
	Bus      bus.Bus
	Subjects bus.Subjects
	// StoreID names the store. A hub of another store on the same subjects is refused;
	// empty: no check.
	StoreID string
	Inbound bus.Inbound // nil: foreign requests are not kept
	// Intake decides about what other programs ask; nil: nobody serves them.
	Intake    Intake
	Heal      func(context.Context) error // restarts a wedged embedded server; nil: external
	Processes Processes
	Admit     func(fika.AgentName) error // gives an agent not in the configuration access to the bus; nil: everybody has it
	Specs     []Spec
	// Sharing is this hub's place among those that share the database; nil: there are no
	// others.
	Sharing Sharing
	// PoolControl carries out a control message to the subject of a pool. It is called
	// from any goroutine. nil: such messages are not answered.
	PoolControl func(ctx context.Context, members []fika.AgentName, c message.Control) error
	// Reload returns what the configuration says about the agents if that, or anything
	// else they depend on, has changed since the last call. nil: nothing changes.
	Reload func(context.Context) (specs []Spec, changed bool)
	// CannotTakeOver says why an agent cannot work a request that another was asked
	// for; "" if it can. nil: nothing is handed over.
	CannotTakeOver func(ctx context.Context, r store.RequestInfo, to fika.AgentName) (string, error)
	// Hindered returns why an agent could not work if it were started now. nil: that is
	// only known after a start.
	Hindered func(fika.AgentName) error
	Log      *slog.Logger
	// Inboxes stores what other programs left in the inboxes of contexts that no
	// process holds, every Tick. nil: nobody does.
	Inboxes func(context.Context)
	// Runs advances the workflow runs in which something has ended and that nobody has
	// continued, at every look, which happens at least every Tick. nil: nobody does.
	Runs func(context.Context)
	// Schedules begins what is due by the clock, at every look, and reports whether
	// anything will become due: then the hub does not rest. nil: there are none.
	Schedules func(context.Context) bool
	// Outputs removes old files from the folders of contexts, at every Clean. nil:
	// nobody does.
	Outputs func(context.Context)
	// LookForIdle has the hub look at the database for its idle agents, and renew their
	// leases, which is worth it where each of them would need a connection for that.
	LookForIdle bool
	// Rest is how long the hub stays without anything to do. 0: for ever.
	Rest time.Duration
	// Followed reports whether anybody but the hub is on the bus. nil: nobody is.
	Followed func() bool
	// Patience is how long an agent that has a task of the board may be gone before others
	// may take it.
	Patience  time.Duration // 0: 10 min
	Tick      time.Duration // 0: 2 s
	Canary    time.Duration // 0: 10 s
	Hung      time.Duration // 0: 90 s
	StopGrace time.Duration // 0: 30 s
	Clean     time.Duration // between two clean-ups, the first soon after the start; 0: 1 h
	Now       func() time.Time
	// Ready is called once, when every agent to be started has given a sign of life or
	// has failed to.
	Ready func([]Started)
	// Home returns an error if the home no longer exists because it was deleted. Then
	// the hub ends. nil: never checked.
	Home func() error
	// ReadyTimeout bounds the wait for Ready; 0: 30 s.
	ReadyTimeout time.Duration
}

// Started is the result of starting one agent.
type Started struct {
	Name  fika.AgentName `json:"name"`
	PID   int            `json:"pid,omitempty"`
	OK    bool           `json:"ok"`
	Error string         `json:"error,omitempty"`
}

// Ready is what a hub reports when it is ready, as a line of JSON.
type Ready struct {
	PID    int       `json:"pid"`
	Bus    string    `json:"bus"`
	Agents []Started `json:"agents"`
	// Warning is what foreign programs cannot rely on; empty: nothing.
	Warning string `json:"warning,omitempty"`
	Error   string `json:"error,omitempty"` // why it did not become ready
	// Waits is why it is not ready yet, and will be by itself once that has changed.
	Waits string `json:"waits,omitempty"`
	// Delayed is why it is not ready yet, and will be, or fails, within seconds: another line follows.
	Delayed string `json:"delayed,omitempty"`
}

// Hub supervises the agents of a home. Create it with [New], and call Run once.
type Hub struct {
	opts       Options
	supervisor *supervisor
	intake     *requestIntake
	care       *caretaker
	pools      *poolControls
	feed       *memberFeed
	mail       chan func()   // capacity 256; senders wait when it is full, or until Run ends
	wakeUps    chan struct{} // capacity 1: one look answers any number of wake-ups
	done       chan struct{}
	begun      time.Time
	ready      bool
	lost       error                           // why there is no home left to look after
	online     bool                            // there is a bus
	scheduled  bool                            // something will become due
	idle       time.Time                       // since when there has been nothing to do
	renewed    map[store.LeaseID]time.Duration // until when this hub has renewed the leases of idle agents, in time since boot
	side       sync.WaitGroup                  // the goroutines of the intake
}

// New returns a hub that has not been started.
func New(o Options) *Hub {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Tick, 2*time.Second)
	def(&o.Patience, 10*time.Minute)
	def(&o.Canary, 10*time.Second)
	def(&o.Hung, 90*time.Second)
	def(&o.StopGrace, 30*time.Second)
	def(&o.ReadyTimeout, 30*time.Second)
	def(&o.Clean, time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sharing == nil {
		o.Sharing = alone{}
	}
	if o.Ready == nil {
		o.Ready = func([]Started) {}
	}
	h := &Hub{opts: o, mail: make(chan func(), 256), wakeUps: make(chan struct{}, 1), done: make(chan struct{})}
	h.supervisor = newSupervisor(h)
	h.intake = newIntakeOf(h)
	h.care = &caretaker{store: o.Store.Care, bus: o.Bus, subjects: o.Subjects, outputs: o.Outputs, log: o.Log, sharing: o.Sharing}
	h.pools = &poolControls{hub: h, pools: map[fika.AgentName]controlledPool{}}
	h.feed = &memberFeed{intake: o.Intake, bus: o.Bus, subjects: o.Subjects}
	return h
}

func (h *Hub) postTask(f func()) {
	select {
	case h.mail <- f:
	case <-h.done:
	}
}

// Shutdown ends the hub after its agents: after their current requests (DesiredFinish),
// or without finishing their current step (DesiredNow). It may be called again to be
// stricter. The end of Run's ctx means DesiredStopped.
func (h *Hub) Shutdown(how fika.Desired) {
	h.postTask(func() {
		h.supervisor.endWith(how)
		h.supervisor.tellAll()
	})
}

// Run supervises until ctx ends or [Hub.Shutdown] is called, then stops every agent,
// including those started by hand, and returns when none is left. By then all its
// goroutines have ended, except for the wait for a child that could not be killed.
func (h *Hub) Run(ctx context.Context) error {
	h.begun = h.opts.Now()
	h.idle = h.begun
	if err := h.claimSubjects(ctx); err != nil {
		close(h.done)
		return err
	}
	subs, err := h.subscribeAll()
	if err != nil {
		close(h.done)
		return err
	}
	h.pools.keep(h.opts.Specs)
	h.feed.keep(h.opts.Log)
	side, stopSide := context.WithCancel(ctx)
	defer func() {
		close(h.done) // first: a handler or the intake may be waiting to post
		stopSide()
		h.side.Wait()
		h.pools.close()
		h.feed.close()
		subs()
	}()
	h.beginIntake(side)
	h.lookAtAll(ctx)
	tick := time.NewTicker(h.opts.Tick)
	defer tick.Stop()
	clean := time.NewTimer(h.opts.Clean / 60)
	defer clean.Stop()
	files := time.NewTicker(reloadTime)
	defer files.Stop()
	wakeUps, rested := h.wakeUps, (<-chan time.Time)(nil)
	for {
		select {
		case f := <-h.mail:
			f()
		case <-wakeUps:
			h.lookAtAll(ctx)
			wakeUps, rested = nil, time.After(wakeUpRest)
		case <-rested:
			wakeUps, rested = h.wakeUps, nil
		case <-tick.C:
			if h.opts.Inboxes != nil {
				h.opts.Inboxes(ctx)
			}
			h.lookAtAll(ctx)
			h.tellIdle(ctx)
			h.care.indexWords(ctx)
		case <-files.C:
			if h.reloadSpecs(ctx) {
				h.lookAtAll(ctx)
			}
		case <-clean.C:
			h.care.cleanUp(ctx)
			clean.Reset(h.opts.Clean)
		case <-ctx.Done():
			h.supervisor.endWith(fika.DesiredStopped)
		}
		if h.supervisor.ending {
			stopSide()
			h.stopAll(ctx)
			return h.lost
		}
		h.reportStarts()
	}
}

// beginIntake starts the goroutines beside the owner goroutine. Run joins them.
func (h *Hub) beginIntake(ctx context.Context) {
	if h.opts.Inbound == nil || h.opts.Intake == nil {
		return
	}
	h.side.Add(2)
	go func() {
		defer h.side.Done()
		h.intake.consumeRequests(ctx)
	}()
	go func() {
		defer h.side.Done()
		h.intake.probeServer(ctx)
	}()
}

// wakeUpRest is the minimum time between two looks that others ask for, because each
// hop of each chain asks.
const wakeUpRest = 25 * time.Millisecond

// lookAtAll looks at everything that is this hub's: processes, desired states, work,
// deadlines, outcomes.
func (h *Hub) lookAtAll(ctx context.Context) {
	if h.opts.Home != nil {
		if h.lost = h.opts.Home(); h.lost != nil {
			h.supervisor.endWith(fika.DesiredStopped)
			return
		}
	}
	h.reloadSpecs(ctx)
	h.care.resumeLapsed(ctx)
	h.scheduled = h.opts.Schedules != nil && h.opts.Schedules(ctx)
	rows, err := h.opts.Store.Directory.ListAgents(ctx)
	if err != nil {
		h.opts.Log.Warn("tick", "err", err)
		return
	}
	work, err := h.opts.Store.Care.WithWork(ctx)
	if err != nil {
		h.opts.Log.Warn("tick", "err", err)
		return
	}
	rows = h.ownAgents(rows)
	waiting := h.supervisor.agentsAtWork(ctx)
	h.supervisor.wantMembers(work, waiting)
	for _, w := range work {
		waiting[w.Agent] = true
	}
	h.seeToBoard(ctx, rows, waiting)
	for _, row := range rows {
		h.supervisor.attendAgent(ctx, row, waiting[row.Name])
	}
	h.handOverWork(ctx, rows)
	h.care.expireDue(ctx)
	if h.opts.Runs != nil {
		h.opts.Runs(ctx)
	}
	if h.online {
		outcome.Announce(ctx, h.opts.Store.Outcomes, h.opts.Bus, h.opts.Subjects, "", h.leavesOutcome)
	}
	h.endIfIdle(ctx, len(waiting) > 0)
}

// tickSoon asks for a look soon.
func (h *Hub) tickSoon() {
	select {
	case h.wakeUps <- struct{}{}:
	default:
	}
}

// claimSubjects makes sure that no hub of another store serves these subjects, because
// both hubs would take in the same requests.
func (h *Hub) claimSubjects(ctx context.Context) error {
	if h.opts.StoreID == "" {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	other, err := h.opts.Bus.Request(asking, h.opts.Subjects.HubStore(), nil)
	if err != nil || string(other) == h.opts.StoreID {
		return nil // nobody is there, or it has the same store
	}
	return fika.Errorf(fika.Conflict, "up", "another hub with another store uses the subjects %q on this bus; set another subject_prefix under [nats], or let both use one store", h.opts.Subjects.All())
}

// subscribeAll listens to the hub's own bell, to those of agents, to heartbeats, to
// questions for the hub's store, and to context requests. The returned function ends
// all subscriptions.
func (h *Hub) subscribeAll() (func(), error) {
	handlers := map[string]func(bus.Msg){
		h.opts.Subjects.Hub(): func(bus.Msg) { h.tickSoon() },
		h.opts.Subjects.Bell("*"): func(m bus.Msg) {
			if name, ok := h.opts.Subjects.AgentOf(m.Subject); ok {
				h.postTask(func() { h.supervisor.onWakeUp(name) })
			}
		},
		h.opts.Subjects.Heartbeat("*"): func(m bus.Msg) {
			var b message.Heartbeat
			if name, ok := h.opts.Subjects.AgentOf(m.Subject); ok && json.Unmarshal(m.Data, &b) == nil {
				h.postTask(func() { h.supervisor.onHeartbeat(name, b) })
			}
		},
		h.opts.Subjects.HubStore(): func(m bus.Msg) {
			if m.Respond != nil {
				_ = m.Respond([]byte(h.opts.StoreID))
			}
		},
	}
	if h.opts.Intake != nil {
		handlers[h.opts.Subjects.ContextRequest("*")] = h.intake.answerContext
	}
	var subs []bus.Subscription
	closeAll := func() {
		for _, s := range subs {
			_ = s.Close()
		}
	}
	for subject, f := range handlers {
		s, err := h.opts.Bus.Subscribe(subject, f)
		if err != nil {
			closeAll()
			return nil, err
		}
		subs = append(subs, s)
	}
	watch := h.opts.Bus.Watch(func(s bus.State, err error) {
		h.postTask(func() { h.busChanged(s, err) })
	})
	return func() { closeAll(); _ = watch.Close() }, nil
}

func (h *Hub) busChanged(s bus.State, err error) {
	if online := s == bus.Connected; online != h.online {
		h.online = online
		h.opts.Log.Info("bus", "state", s, "err", err)
		h.tickSoon()
	}
}

// reloadTime is how often the hub checks whether the files have changed, at the cost of
// a few stats.
const reloadTime = 500 * time.Millisecond

// reloadSpecs applies the current configuration, and reports whether it changed.
func (h *Hub) reloadSpecs(ctx context.Context) bool {
	if h.opts.Reload == nil {
		return false
	}
	specs, changed := h.opts.Reload(ctx)
	if changed {
		h.supervisor.applySpecs(specs)
		h.pools.keep(specs)
		h.feed.keep(h.opts.Log)
	}
	return changed
}
