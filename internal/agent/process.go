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
	"fika/internal/message"
	"fika/internal/store"
	"fika/internal/turn"
)

// Work runs one claimed request. stop, when closed, hands it back between two
// steps; ctx ends the running step.
type Work func(ctx context.Context, c store.Claimed, stop <-chan struct{}, o turn.Observer) (turn.Result, error)

// Options is all that a process depends on.
type Options struct {
	Agent    fika.Agent
	Pool     fika.AgentName // that it is a member of; empty: none
	Lease    store.Lease
	Model    string // as displayed
	Store    Store
	Bus      bus.Bus
	Subjects bus.Subjects
	Work     Work
	Compact  Compact // nil: it cannot be asked for
	// Summarise is run beside turns. nil: it cannot be asked for.
	Summarise Summarise
	Orphan    func(context.Context, fika.Step) // ends what a crashed step left running; may be nil
	Recover   func()                           // called once before any work, when nothing of an earlier owner runs any more; may be nil
	Wake      func(...fika.AgentName)
	// Advance goes on with the run of a workflow in which a turn has ended. nil:
	// the hub does.
	Advance func(context.Context, fika.RequestID)
	// Sign stores a sign of life at once: when the process becomes ready, and
	// soon after something changed. nil: the owner's heartbeat does.
	Sign func(context.Context)
	// Rest is called once when there has been no work for a while: most agents
	// are idle most of the time. nil: nothing is given back.
	Rest          func()
	Display       *Display // nil: none
	Limits        store.Limits
	MaxConcurrent int           // turns at once; 0 means 1
	MaxIdle       time.Duration // exit after this long without work; 0: stay
	// Settings, if not nil, is asked for these three at every Poll.
	Settings  func() Settings
	Poll      time.Duration // how often to look without a wake-up; 0 means 2 s
	Heartbeat time.Duration // 0 means 30 s
	Now       func() time.Time
}

// Settings are what may change while a process runs.
type Settings struct {
	Limits        store.Limits
	MaxConcurrent int
	MaxIdle       time.Duration
}

// Process is one agent at work. Create it with [New], run it once.
type Process struct {
	opts    Options
	mail    chan func() // capacity 64; senders wait when it is full, or until Run ends
	done    chan struct{}
	noted   chan struct{} // capacity 1: outcomes are out, and the row may say so
	started time.Time

	announcer *announcer

	running   map[fika.RequestID]*job
	connected bool          // the bus is there
	signed    store.Beat    // what Sign stored last
	ready     bool          // recovered, and looking for work
	woken     bool          // told of work since it claimed last
	stopping  bool          // no more claims
	stop      chan struct{} // closed: hand back between steps
	cause     error         // why Run ends
	idleSince time.Time
	rested    bool             // Rest was called since the last turn
	changed   <-chan time.Time // the state has changed, and the bus is to be told; nil: it knows
	turns     sync.WaitGroup

	compactions   []controlled       // that wait for the turns that run
	endCompaction context.CancelFunc // of the one under way; nil: none is
	summaries     summaries

	state     atomic.Value // fika.AgentState
	processed atomic.Int64
}

// New makes a process.
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
	if o.Rest == nil {
		o.Rest = func() {}
	}
	p := &Process{
		opts: o, mail: make(chan func(), 64), done: make(chan struct{}), noted: make(chan struct{}, 1), stop: make(chan struct{}),
		running: map[fika.RequestID]*job{}, summaries: summaries{ending: map[int]context.CancelFunc{}}, started: o.Now(), idleSince: o.Now(),
	}
	p.state.Store(fika.AgentStarting)
	return p
}

// refreshSettings takes over the settings that have changed, and reports whether
// budgets are among them.
func (o *Options) refreshSettings() (budgets bool) {
	if o.Settings == nil {
		return false
	}
	s := o.Settings()
	budgets = !slices.Equal(o.Limits.Budgets.List, s.Limits.Budgets.List)
	o.Limits, o.MaxConcurrent, o.MaxIdle = s.Limits, max(1, s.MaxConcurrent), s.MaxIdle
	return budgets
}

// Beat is what the owner's heartbeat stores with the lease. It may be called
// from any goroutine.
func (p *Process) Beat() store.Beat {
	return store.Beat{State: p.state.Load().(fika.AgentState), Processed: p.processed.Load()}
}

// Lost ends the process at once: another owner has the agent, and nothing may
// be written any more.
func (p *Process) Lost(err error) {
	p.postTask(func() { p.endAll(fika.Wrap(fika.Lost, "agent "+string(p.opts.Agent.Name), err), err) })
}

// Shutdown ends the process: after the current steps, whose requests are handed
// back (DesiredStopped), after the current requests (DesiredFinish), or without
// finishing the current steps (DesiredNow). It may be called again, to be
// stricter.
func (p *Process) Shutdown(how fika.Desired) { p.postTask(func() { p.beginShutdown(how) }) }

// postTask hands f to the owner goroutine; after Run has ended it does nothing.
func (p *Process) postTask(f func()) {
	select {
	case p.mail <- f:
	case <-p.done:
	}
}

// Run works until it is told to stop, is idle too long, or loses the lease
// (kind Lost). When ctx ends, it stops as Shutdown(DesiredStopped) does. All goroutines
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
	p.storeState(alive) // before the bus is told: who hears it looks at the row
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
	poll := time.NewTicker(p.opts.Poll)
	defer poll.Stop()
	beat := time.NewTicker(p.opts.Heartbeat)
	defer beat.Stop()
	ended := ctx.Done()
	p.lookForWork(alive)
	for !p.stopping || len(p.running) > 0 || p.endCompaction != nil {
		select {
		case f := <-p.mail:
			f()
		case <-poll.C:
			p.followSettings(alive)
			p.storeState(alive)
			p.restIfIdle()
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

// followSettings takes over what has changed. Work that was found to have no
// room in a budget as it was until now is looked at again.
func (p *Process) followSettings(ctx context.Context) {
	if !p.opts.refreshSettings() {
		return
	}
	if err := p.opts.Store.Queue.LookAgain(ctx); err != nil {
		p.opts.Display.Warn("budgets: " + err.Error())
	}
}

// lookForWork ends turns that are no longer wanted, begins compactions and summaries
// that were asked for, and claims what there is.
func (p *Process) lookForWork(ctx context.Context) {
	p.checkSignals(ctx)
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

// claimNext takes the next piece of work. A process that was told of some does not
// look first whether there is any.
func (p *Process) claimNext(ctx context.Context) (*store.Claimed, error) {
	take := p.opts.Store.Queue.Claim
	if p.woken {
		take = p.opts.Store.Queue.ClaimNow
	}
	p.woken = false
	return take(ctx, p.opts.Lease, p.opts.Limits, p.worksAt)
}

// leaveIfIdle ends a process that has been without work for as long as it may be.
func (p *Process) leaveIfIdle(ctx context.Context) {
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

// leaveIdle ends the process for want of work. That a person wanted it to
// run is done with then, unless they want it anew from now on: so it is taken back
// while this process still has the agent, and never after.
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

// checkDesired stops the process when a person wants it stopped, and reports whether
// there is anything to look at closer. What is wanted is a column, so that it
// works without hub and bus; a control message is quicker. An idle process asks the
// store no more than this.
func (p *Process) checkDesired(ctx context.Context) bool {
	seen, err := p.opts.Store.Lifecycle.Look(ctx, p.opts.Lease)
	if err != nil {
		return true // the look tells more
	}
	if seen.Desired.Stopped() {
		p.beginShutdown(seen.Desired)
	}
	p.woken = p.woken || seen.Work
	return seen.Work || len(p.running) > 0
}

// beginShutdown claims nothing any more, and ends what how says; see [Process.Shutdown].
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

// endAll stops everything because the right to work is gone.
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
		p.opts.Display.Warn("request " + string(id) + " was interrupted by a crash; it is not repeated by itself (fika run --continue)")
	}
	for _, id := range rec.Dead {
		p.opts.Display.Warn("request " + string(id) + " is dead after three starts without progress (fika request retry)")
	}
	for _, c := range rec.Claimed {
		p.beginTurn(ctx, c)
	}
	return nil
}

// endOrphans ends what steps left running that nobody works at.
func (p *Process) endOrphans(ctx context.Context, steps []fika.Step) {
	if p.opts.Orphan == nil {
		return
	}
	for _, s := range steps {
		p.opts.Orphan(ctx, s)
	}
}

// setState changes the state, of which the bus is told soon: whoever begins or
// ends a turn has better things to do first.
func (p *Process) setState(s fika.AgentState) {
	if p.state.Swap(s) != s && p.changed == nil {
		p.changed = time.After(settle)
	}
}

// heartbeat tells the bus how this process is, once it is ready.
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
