package agent

import (
	"context"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/turn"
)

// Work runs one claimed request. Closing stop hands the request back between two steps;
// the end of ctx ends the running step.
type Work func(ctx context.Context, c store.Claimed, stop <-chan struct{}, o turn.Observer) (turn.Result, error)

// Options holds everything that a process depends on.
type Options struct {
	Agent    fika.Agent
	Pool     fika.AgentName // the pool that it is a member of; empty: none
	Lease    store.Lease
	Model    string // as displayed
	Store    Store
	Bus      bus.Bus
	Subjects bus.Subjects
	Work     Work
	Compact  Compact // nil: compaction cannot be requested
	// Summarise runs beside turns. nil: summaries cannot be requested.
	Summarise Summarise
	Orphan    func(context.Context, fika.Step) // ends the processes of a crashed step; may be nil
	Recover   func()                           // called once before any work, when nothing of an earlier owner runs any more; may be nil
	Wake      func(...fika.AgentName)
	// Advance continues the workflow run in which a turn has ended. nil: the hub does
	// it.
	Advance func(context.Context, fika.RequestID)
	// Sign stores a sign of life at once: when the process becomes ready, and soon
	// after something has changed. nil: the owner's heartbeat does it.
	Sign func(context.Context)
	// Renewed is told that the hub has renewed the lease, and until when it holds, in time
	// since this machine was started. nil: the hub looks for nobody.
	Renewed func(until time.Duration)
	// Inbox takes in what other programs have left for the agent, as each look at the store
	// does. nil: nobody leaves anything.
	Inbox func(context.Context)
	// Jobs are the background commands of this process. nil: it runs none.
	Jobs Jobs
	// Rest is called once when there has been no work for a while, because most agents
	// are idle most of the time. nil: no resources are released.
	Rest          func()
	Display       *Display // nil: none
	Limits        store.Limits
	MaxConcurrent int           // turns at once; 0 means 1
	MaxIdle       time.Duration // exit after this long without work; 0: stay
	// Settings, if not nil, returns the current values of the three fields above; it is
	// called whenever the process looks for work, so that what is claimed obeys them.
	Settings  func() Settings
	Poll      time.Duration // how often to look without a wake-up; 0 means 2 s
	Heartbeat time.Duration // 0 means 30 s
	Now       func() time.Time
}

// Jobs are background commands. The process stays while any runs.
type Jobs interface {
	Running() int
	Check(context.Context) // ends those that are not wanted any more
}

// Settings are the options that may change while a process runs.
type Settings struct {
	Limits        store.Limits
	MaxConcurrent int
	MaxIdle       time.Duration
}

// Process works for one agent. Create it with [New], and call Run once.
type Process struct {
	opts    Options
	mail    chan func()       // capacity 64; senders wait when it is full, or until Run ends
	told    chan message.Idle // capacity 1: what the hub said last
	done    chan struct{}
	noted   chan struct{} // capacity 1: outcomes are published, and the row may be updated
	started time.Time

	announcer *announcer
	live      live

	running   map[fika.RequestID]*runningTurn
	connected bool          // there is a bus
	signed    store.Beat    // what Sign stored last
	ready     bool          // recovered, and looking for work
	lookedFor bool          // since it last looked itself, the hub has
	woken     bool          // told of work since the last claim
	stopping  bool          // no more claims
	stop      chan struct{} // closed: hand back between steps
	cause     error         // why Run ends
	idleSince time.Time
	rested    bool             // Rest was called since the last turn
	changed   <-chan time.Time // fires when the bus is to be told of a new state; nil: it knows
	turns     sync.WaitGroup

	compactions   []controlled       // waiting for running turns to end
	endCompaction context.CancelFunc // cancels the one under way; nil: none is
	summaries     summaries

	state     atomic.Value // fika.AgentState
	processed atomic.Int64
}

// New returns a process that has not been started.
func New(o Options) *Process {
	o.refreshSettings()
	if o.MaxConcurrent == 0 {
		o.MaxConcurrent = 1
	}
	if o.Poll == 0 {
		o.Poll = 2 * time.Second
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wake == nil {
		o.Wake = func(...fika.AgentName) {}
	}
	if o.Advance == nil {
		o.Advance = func(context.Context, fika.RequestID) {}
	}
	if o.Sign == nil {
		o.Sign = func(context.Context) {}
	}
	if o.Renewed == nil {
		o.Renewed = func(time.Duration) {}
	}
	if o.Inbox == nil {
		o.Inbox = func(context.Context) {}
	}
	if o.Rest == nil {
		o.Rest = func() {}
	}
	p := &Process{
		opts: o, mail: make(chan func(), 64), told: make(chan message.Idle, 1), done: make(chan struct{}), noted: make(chan struct{}, 1), stop: make(chan struct{}),
		running: map[fika.RequestID]*runningTurn{}, summaries: summaries{ending: map[int]context.CancelFunc{}}, started: o.Now(), idleSince: o.Now(),
	}
	p.state.Store(fika.AgentStarting)
	return p
}

// refreshSettings takes over changed settings, and reports whether budgets are among
// them.
func (o *Options) refreshSettings() (budgets bool) {
	if o.Settings == nil {
		return false
	}
	s := o.Settings()
	budgets = !slices.Equal(o.Limits.Budgets.List, s.Limits.Budgets.List)
	o.Limits, o.MaxConcurrent, o.MaxIdle = s.Limits, max(1, s.MaxConcurrent), s.MaxIdle
	return budgets
}

// Beat returns what the owner's heartbeat stores with the lease. It is safe for
// concurrent use.
func (p *Process) Beat() store.Beat {
	return store.Beat{State: p.state.Load().(fika.AgentState), Processed: p.processed.Load()}
}

// Lost ends the process at once: another owner has the agent, and nothing may be
// written any more.
func (p *Process) Lost(err error) {
	p.postTask(func() { p.endAll(fika.Wrap(fika.Lost, "agent "+string(p.opts.Agent.Name), err), err) })
}

// Shutdown ends the process: after the current steps, whose requests are handed back
// (DesiredStopped), after the current requests (DesiredFinish), or without finishing
// the current steps (DesiredNow). It may be called again to be stricter.
func (p *Process) Shutdown(how fika.Desired) { p.postTask(func() { p.beginShutdown(how) }) }

// postTask passes f to the owner goroutine. After Run has ended it does nothing.
func (p *Process) postTask(f func()) {
	select {
	case p.mail <- f:
	case <-p.done:
	}
}

// Run works until it is told to stop, is idle for too long, or loses the lease (kind
// Lost). When ctx ends, it stops as Shutdown(DesiredStopped) does. All its goroutines
// have ended when it returns.
func (p *Process) Run(ctx context.Context) error {
	alive, die := context.WithCancel(context.WithoutCancel(ctx))
	defer die()
	p.announcer = p.startAnnouncer()
	defer p.announcer.closeAndWait() // after subs: nobody wakes it any more
	subs, err := p.subscribeAll()
	if err != nil {
		close(p.done)
		return err
	}
	defer subs()
	defer close(p.done) // before subs ends: a handler may be waiting to post
	p.opts.Display.Ready(p.opts.Agent.Name, p.opts.Model, p.opts.Subjects.Request(p.opts.Agent.Name))
	p.state.Store(fika.AgentIdle)
	if err := p.recoverWork(alive); err != nil {
		return err
	}
	p.storeState(alive) // before the bus is told: listeners then read the row
	p.ready = true
	p.heartbeat()
	p.announcePending()
	p.ownerLoop(ctx, alive)
	p.setState(fika.AgentStopped)
	p.heartbeat()
	return p.cause
}

// ownerLoop is the owner goroutine.
func (p *Process) ownerLoop(ctx, alive context.Context) {
	poll := time.NewTimer(p.opts.Poll)
	defer poll.Stop()
	beat := time.NewTicker(p.opts.Heartbeat)
	defer beat.Stop()
	ended := ctx.Done()
	p.lookForWork(alive)
	for !p.stopping || len(p.running) > 0 || p.endCompaction != nil {
		select {
		case f := <-p.mail:
			f()
		case said := <-p.told:
			if since, ok := p.sparedBy(said); ok {
				poll.Reset(p.opts.Poll*5/4 - since) // by then, the hub has looked again
				p.opts.Inbox(alive)
				p.passTime(alive)
				p.leaveIfIdle(alive)
			}
			continue
		case <-poll.C:
			poll.Reset(p.opts.Poll)
			p.passTime(alive)
			if !p.checkDesired(alive) {
				p.leaveIfIdle(alive)
				continue
			}
		case <-p.noted:
			p.storeState(alive)
			continue
		case <-beat.C:
			p.heartbeat()
			continue
		case <-p.changed:
			p.heartbeat()
			continue
		case <-ended:
			ended = nil
			p.beginShutdown(fika.DesiredStopped)
		}
		p.lookForWork(alive)
	}
	p.turns.Wait()
}

// passTime does what is due every now and then without a look at the store.
func (p *Process) passTime(ctx context.Context) {
	p.storeState(ctx)
	p.checkJobs(ctx)
	p.restIfIdle()
}

// followSettings takes over changed settings. Work that had no room in the old budgets
// is looked at again.
func (p *Process) followSettings(ctx context.Context) {
	if !p.opts.refreshSettings() {
		return
	}
	if err := p.opts.Store.Queue.LookAgain(ctx); err != nil {
		p.opts.Display.Warn("budgets: " + err.Error())
	}
}

// lookForWork takes over changed settings, cancels turns that are no longer wanted, begins
// requested compactions and summaries, and claims available work.
func (p *Process) lookForWork(ctx context.Context) {
	p.followSettings(ctx)
	p.checkSignals(ctx)
	p.checkJobs(ctx)
	p.beginCompaction(ctx)
	p.beginSummaries(ctx)
	for !p.stopping && !p.isCompacting() && len(p.running) < p.opts.MaxConcurrent {
		c, err := p.claimNext(ctx)
		switch {
		case fika.IsKind(err, fika.Lost), store.IsLasting(err):
			p.endAll(err, err)
			return
		case err != nil:
			p.opts.Display.Warn("claim: " + err.Error())
			return
		case c == nil:
			p.leaveIfIdle(ctx)
			return
		}
		p.endOrphans(ctx, c.Orphans)
		p.showNoticed(c.Noticed)
		p.beginTurn(ctx, *c)
	}
	p.leaveIfIdle(ctx)
}

// checkSignals cancels the turns that are no longer wanted.
func (p *Process) checkSignals(ctx context.Context) {
	for _, j := range p.running {
		sig, err := p.opts.Store.Queue.Signal(ctx, j.claimed.Fence)
		switch {
		case fika.IsKind(err, fika.Lost, fika.NotFound):
			j.cancel(err) // its conversation was deleted, or another owner has it
		case err == nil && (sig.Cancel || sig.Deadline):
			j.cancel(cancelCause(sig))
		}
	}
}

func (p *Process) checkJobs(ctx context.Context) {
	if p.opts.Jobs != nil {
		p.opts.Jobs.Check(ctx)
	}
}

// claimNext claims the next piece of work. A process that was told of work does not
// first check whether there is any.
func (p *Process) claimNext(ctx context.Context) (*store.Claimed, error) {
	take := p.opts.Store.Queue.Claim
	if p.woken {
		take = p.opts.Store.Queue.ClaimNow
	}
	p.woken = false
	return take(ctx, p.opts.Lease, p.opts.Limits, p.worksAt)
}

// leaveIfIdle ends a process that has been idle for MaxIdle.
func (p *Process) leaveIfIdle(ctx context.Context) {
	if p.opts.Jobs != nil && p.opts.Jobs.Running() > 0 {
		return
	}
	if idle := p.opts.Now().Sub(p.idleSince); len(p.running) == 0 && !p.isCompacting() && len(p.summaries.ending) == 0 && p.opts.MaxIdle > 0 && idle >= p.opts.MaxIdle && !p.stopping {
		p.leaveIdle(ctx, idle)
	}
}

// restIfIdle calls Rest once when the process has had no work for a while.
func (p *Process) restIfIdle() {
	if p.rested || len(p.running) > 0 || p.isCompacting() || p.opts.Now().Sub(p.idleSince) < p.opts.Poll/2 {
		return
	}
	p.rested = true
	p.opts.Rest()
}

// leaveIdle ends the process because it is idle. This fulfils a person's wish that it
// run, unless they express it anew: so the wish is withdrawn while this process still
// has the agent, and never after that.
func (p *Process) leaveIdle(ctx context.Context, idle time.Duration) {
	if err := p.opts.Store.Lifecycle.ReplaceDesired(ctx, p.opts.Agent.ID, fika.DesiredRunning, fika.DesiredNone); err != nil {
		p.opts.Display.Warn("idle, but the store does not let it leave: " + err.Error())
		return
	}
	p.opts.Display.Leaves(idle)
	p.beginShutdown(fika.DesiredStopped)
}

// storeState stores what has changed since the last time, so that lists are true
// without a write for each request.
func (p *Process) storeState(ctx context.Context) {
	if b := p.Beat(); b != p.signed {
		p.signed = b
		p.opts.Sign(ctx)
	}
}

// checkDesired stops the process if a person wants it stopped, and reports whether
// there is reason to look closer. The desired state is a column, so that stopping works
// without hub and bus; a control message is quicker. An idle process reads nothing else
// from the store.
func (p *Process) checkDesired(ctx context.Context) bool {
	if p.lookedFor {
		p.lookedFor = false
		p.opts.Sign(ctx) // the hub may renew the lease no more
	}
	seen, err := p.opts.Store.Lifecycle.Look(ctx, p.opts.Lease)
	if err != nil {
		return true // the closer look tells more
	}
	if seen.Desired.Stopped() {
		p.beginShutdown(seen.Desired)
	}
	p.woken = p.woken || seen.Work
	return seen.Work || len(p.running) > 0
}

// beginShutdown stops claiming, and ends running work in the given way: see
// [Process.Shutdown].
func (p *Process) beginShutdown(how fika.Desired) {
	if !p.stopping {
		p.stopping = true
		p.setState(p.state.Load().(fika.AgentState))
	}
	p.refuseCompactions()
	if how == fika.DesiredFinish {
		return
	}
	select {
	case <-p.stop:
	default:
		close(p.stop)
	}
	if how == fika.DesiredNow {
		for _, j := range p.running {
			j.cancel(turn.ErrStop)
		}
	}
}

// endAll cancels everything, because the lease is lost or the store fails for good.
func (p *Process) endAll(cause, why error) {
	p.cause = cause
	p.stopping = true
	p.refuseCompactions()
	for _, j := range p.running {
		j.cancel(why)
	}
}

// recoverWork takes over what an earlier owner left.
func (p *Process) recoverWork(ctx context.Context) error {
	rec, err := p.opts.Store.Queue.Recover(ctx, p.opts.Lease)
	if err != nil {
		return err
	}
	p.endOrphans(ctx, rec.Orphans)
	if p.opts.Recover != nil {
		p.opts.Recover()
	}
	for _, id := range rec.Interrupted {
		p.opts.Display.Warn("request " + string(id) + " was interrupted by a crash; it is not repeated by itself (" + hint.RunContinue.With() + ")")
	}
	for _, id := range rec.Dead {
		p.opts.Display.Warn("request " + string(id) + " is dead after three starts without progress (" + hint.RequestRetry.With() + ")")
	}
	for _, c := range rec.Claimed {
		p.beginTurn(ctx, c)
	}
	return nil
}

// endOrphans ends the processes of steps that nobody works on.
func (p *Process) endOrphans(ctx context.Context, steps []fika.Step) {
	if p.opts.Orphan == nil {
		return
	}
	for _, s := range steps {
		p.opts.Orphan(ctx, s)
	}
}

// setState changes the state. The bus is told a little later, because a turn that
// begins or ends has more urgent things to do.
func (p *Process) setState(s fika.AgentState) {
	if p.state.Swap(s) != s && p.changed == nil {
		p.changed = time.After(settle)
	}
}

// heartbeat publishes the state of this process on the bus, once it is ready.
func (p *Process) heartbeat() {
	p.changed = nil
	if !p.ready {
		return
	}
	state := p.state.Load().(fika.AgentState)
	h := message.Heartbeat{
		Type: message.TypeHeartbeat, AgentName: string(p.opts.Agent.Name), Status: string(state),
		Uptime:            int64(p.opts.Now().Sub(p.started) / time.Second),
		RequestsProcessed: p.processed.Load(), Timestamp: message.TimeText(p.opts.Now()), PID: os.Getpid(), Model: p.opts.Model, V: message.Version,
	}
	for _, j := range p.running {
		h.CurrentConversationID = string(j.claimed.Conversation.Name)
	}
	p.publishBody(p.opts.Subjects.Heartbeat(p.opts.Agent.Name), h)
}
