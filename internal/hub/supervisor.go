package hub

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/process"
	"fika/internal/text/hint"
)

const (
	budget      = 5 // restarts …
	budgetSpan  = time.Minute
	firstDelay  = 250 * time.Millisecond
	longDelay   = 8 * time.Second
	nowGrace    = 4 * time.Second // for a process that was told to leave at once
	calmDelay   = time.Second     // before an agent that left politely is started again
	exitLocked  = 4               // exit code: another process holds the context
	exitInvalid = 2               // exit code: invalid configuration; a restart changes nothing
)

// supervisor starts, watches and ends the agents' processes. Only the hub's goroutine
// uses it.
type supervisor struct {
	store     Directory
	procs     Processes
	bus       bus.Bus
	subjects  bus.Subjects
	admit     func(fika.AgentName) error
	hindrance func(fika.AgentName) error
	hung      time.Duration
	stopGrace time.Duration
	log       *slog.Logger
	now       func() time.Time
	tickSoon  func()       // asks for another look soon
	post      func(func()) // runs a function in the hub's goroutine
	sharing   Sharing

	agents    map[fika.AgentName]*supervised
	elsewhere map[fika.AgentName]string // the homes of agents that are not this hub's
	order     []fika.AgentName
	reloads   int          // how often the files have changed
	ending    bool         // nothing more is started
	how       fika.Desired // how to end: see [Hub.Shutdown]
	told      time.Time    // when the agents were told to end
}

func newSupervisor(h *Hub) *supervisor {
	o := &h.opts
	s := &supervisor{
		store: o.Store.Directory, procs: o.Processes, bus: o.Bus, subjects: o.Subjects,
		admit: o.Admit, hindrance: o.Hindered, hung: o.Hung, stopGrace: o.StopGrace, log: o.Log, now: o.Now,
		tickSoon: h.tickSoon, post: h.postTask, agents: map[fika.AgentName]*supervised{}, reloads: 1, sharing: o.Sharing,
	}
	for _, spec := range o.Specs {
		s.agents[spec.Name] = &supervised{spec: spec, entry: true}
		s.order = append(s.order, spec.Name)
	}
	return s
}

// endWith ends the supervision: nothing is started any more, and agents end in the
// given way.
func (s *supervisor) endWith(how fika.Desired) { s.ending, s.how = true, how }

// recordOf returns the agent's record, and creates it on first use.
func (s *supervisor) recordOf(name fika.AgentName) *supervised {
	c := s.agents[name]
	if c != nil {
		return c
	}
	c = &supervised{spec: Spec{Name: name}}
	s.agents[name] = c
	s.order = append(s.order, name)
	if s.admit != nil {
		if err := s.admit(name); err != nil {
			s.log.Warn("bus credentials", "agent", name, "err", err)
		}
	}
	return c
}

// lookAt updates the knowledge of an agent's process from its lock. left reports
// whether a process that this hub did not start has ended since the last look.
func (s *supervisor) lookAt(name fika.AgentName) (c *supervised, left bool) {
	c = s.recordOf(name)
	if c.running && !c.child && !s.procs.Alive(c.proc) {
		c.running, c.ready, left = false, false, true
	}
	if c.running {
		return c, false
	}
	if p, _, held := s.procs.Holder(name); held {
		c.proc, c.running, c.child, c.ready, c.stopped = p, true, false, false, time.Time{}
		s.log.Info("adopted", "agent", name, "pid", p.PID)
		return c, false
	}
	return c, left
}

// attendAgent does what one agent needs now.
func (s *supervisor) attendAgent(ctx context.Context, row fika.Agent, work bool) {
	c, left := s.lookAt(row.Name)
	c.stoppedByUser, c.wantedByUser = row.Desired.Stopped(), row.Desired == fika.DesiredRunning
	leaving := s.sharing.Leaving(row.ID)
	held := leaving || s.sharing.Drained() || !s.sharing.Fits(c.spec.RunOn)
	switch {
	case left:
		s.onAdoptedExit(ctx, c)
	case c.running && leaving:
		if c.asked = false; c.stopped.IsZero() { // however long what it does takes
			c.stopped = s.now()
			s.procs.Terminate(c.proc, fika.DesiredFinish)
		}
	case c.running && held:
		c.asked = false // it is started again when its host is resumed, or may run it
		s.tellToStop(c, fika.DesiredStopped)
	case c.running && len(c.spec.Members) > 0: // from before it became a pool
		s.tellToStop(c, fika.DesiredStopped)
	case len(c.spec.Members) > 0:
	case c.running && (row.Desired == fika.DesiredStopped || row.Desired == fika.DesiredNow):
		s.tellToStop(c, row.Desired)
	case c.running && row.Desired == fika.DesiredFinish:
		// The process has read that itself; only silence ends the wait for it.
		s.checkHung(ctx, c, row)
	case c.running:
		s.noteReady(c, row)
		s.checkHung(ctx, c, row)
	case c.stoppedByUser:
		s.settleStopped(ctx, row)
	case !c.entry || held:
	case row.State == fika.AgentFailed && c.failed != "" && !s.isMended(ctx, c, row.ID):
	case s.isWanted(c, row, work):
		if c.mayStart(s.now()) {
			s.startAgent(ctx, c, row)
		}
	case c.checked != s.reloads: // lists show what hinders it before it is needed
		c.checked = s.reloads
		s.refuseHindered(ctx, c, row.ID)
	}
}

// settleStopped replaces the way of stopping by a plain "stopped", and corrects the
// state that a crashed process left in its row.
func (s *supervisor) settleStopped(ctx context.Context, row fika.Agent) {
	if row.Desired != fika.DesiredStopped {
		if err := s.store.ReplaceDesired(ctx, row.ID, row.Desired, fika.DesiredStopped); err != nil {
			s.log.Warn("it is stopped, which could not be stored", "agent", row.Name, "err", err)
		}
	}
	if row.State != fika.AgentStopped {
		s.storeState(ctx, row.ID, fika.AgentStopped, "")
	}
}

// storeState stores an agent's state as far as the hub can see it. Errors are only
// logged: a later look stores it again, or a better state.
func (s *supervisor) storeState(ctx context.Context, id fika.AgentID, state fika.AgentState, why string) {
	if err := s.store.SetState(ctx, id, state, why); err != nil {
		s.log.Warn("the state of an agent could not be stored", "agent", id, "state", state, "why", why, "err", err)
	}
}

// noteReady believes an agent's row when it says that the agent is ready.
func (s *supervisor) noteReady(c *supervised, row fika.Agent) {
	if !c.ready && (row.State == fika.AgentIdle || row.State == fika.AgentBusy) && process.OwnsLease(row.Owner, c.proc.PID) {
		c.ready = true
	}
}

// isWanted reports whether an agent should run.
func (s *supervisor) isWanted(c *supervised, row fika.Agent, work bool) bool {
	if row.State != fika.AgentFailed && c.failed != "" {
		c.failed, c.crashes, c.pause = "", nil, 0 // a person asked for a new start
	}
	return row.Desired == fika.DesiredRunning || (c.spec.AutoStart && (c.spec.Persistent || !c.asked)) || (c.spec.Wake && work)
}

func (s *supervisor) startAgent(ctx context.Context, c *supervised, row fika.Agent) {
	c.asked = true
	if s.refuseHindered(ctx, c, row.ID) {
		return
	}
	name := c.spec.Name
	s.storeState(ctx, row.ID, fika.AgentStarting, row.StateReason)
	crash.Point("wake.before")
	p, err := s.procs.Spawn(name, func(x Exit) { s.post(func() { s.onChildExit(name, x) }) })
	if err != nil {
		s.planRestart(ctx, c, row.ID, err.Error())
		return
	}
	crash.Point("wake.after")
	c.proc, c.running, c.child, c.ready, c.stopped = p, true, true, false, time.Time{}
	s.log.Info("started", "agent", name, "pid", p.PID)
}

// onChildExit handles the end of a child.
func (s *supervisor) onChildExit(name fika.AgentName, x Exit) {
	ctx := context.Background()
	c := s.agents[name]
	told := !c.stopped.IsZero()
	c.running, c.ready, c.stopped = false, false, time.Time{}
	s.log.Info("exited", "agent", name, "how", x.Reason)
	if s.ending {
		return
	}
	row, err := s.store.Agent(ctx, name)
	if err != nil {
		s.log.Warn("exited", "agent", name, "err", err)
		return
	}
	switch {
	case told || x.Code == 0 || row.Desired.Stopped():
		s.notePoliteEnd(ctx, c, row)
	case x.Code == exitLocked:
		c.pauseFor(s.now(), calmDelay) // its owner is another process, which the next look adopts
		s.storeState(ctx, row.ID, fika.AgentStopped, s.lastWords(name, x))
	case x.Code == exitInvalid:
		s.markFailed(ctx, c, row.ID, "it cannot start: "+s.lastWords(name, x))
		c.refused = true
	default:
		s.planRestart(ctx, c, row.ID, s.lastWords(name, x))
	}
	s.tickSoon()
}

// onAdoptedExit handles the end of a process that this hub did not start. A process
// that left politely has released its lease.
func (s *supervisor) onAdoptedExit(ctx context.Context, c *supervised) {
	told := !c.stopped.IsZero()
	c.stopped = time.Time{}
	row, err := s.store.Agent(ctx, c.spec.Name)
	if err != nil {
		return
	}
	s.log.Info("gone", "agent", row.Name, "pid", c.proc.PID)
	if told || row.Desired.Stopped() || row.Owner == "" {
		s.notePoliteEnd(ctx, c, row)
	} else {
		s.planRestart(ctx, c, row.ID, s.lastWords(row.Name, Exit{Reason: fmt.Sprintf("process %d exited without an error message", c.proc.PID)}))
	}
	s.tickSoon()
}

// notePoliteEnd records a polite end. It leaves the desired state alone, because a
// person may have set it after the process decided to leave.
func (s *supervisor) notePoliteEnd(ctx context.Context, c *supervised, row fika.Agent) {
	s.storeState(ctx, row.ID, fika.AgentStopped, "")
	if !row.Desired.Stopped() {
		c.pauseFor(s.now(), calmDelay)
		time.AfterFunc(calmDelay, s.tickSoon)
	}
}

// planRestart plans a restart, or gives up if the budget is spent.
func (s *supervisor) planRestart(ctx context.Context, c *supervised, id fika.AgentID, why string) {
	now := s.now()
	c.crashes = slices.DeleteFunc(c.crashes, func(t time.Time) bool { return now.Sub(t) >= budgetSpan })
	c.crashes = append(c.crashes, now)
	if len(c.crashes) > budget {
		s.markFailed(ctx, c, id, fmt.Sprintf("%d crashes within %s (%s tries again); the last: %s", len(c.crashes), budgetSpan, hint.AgentStart.With(c.spec.Name), why))
		return
	}
	delay := min(firstDelay<<(len(c.crashes)-1), longDelay)
	c.pauseFor(now, delay)
	s.log.Warn("crashed", "agent", c.spec.Name, "why", why, "again_in", delay)
	s.storeState(ctx, id, fika.AgentUnhealthy, why)
	time.AfterFunc(delay, s.tickSoon)
}

// markFailed gives an agent up. The agent is started again when the cause may have gone
// away (see [supervisor.isMended]), or by a person; if only a person can do it, why
// says so, wherever the agent is shown.
func (s *supervisor) markFailed(ctx context.Context, c *supervised, id fika.AgentID, why string) {
	c.failed, c.crashes = why, nil
	c.hindered, c.refused, c.reloads = false, false, s.reloads
	s.log.Error("failed", "agent", c.spec.Name, "why", why)
	s.storeState(ctx, id, fika.AgentFailed, why)
}

func (s *supervisor) lastWords(name fika.AgentName, x Exit) string {
	if lines := s.procs.LastLines(name, 3); lines != "" {
		return x.Reason + "; its log ends: " + lines
	}
	return x.Reason
}

// checkHung ends a process that has given no sign of life, by lock and by lease, for
// too long. Heartbeats on the bus do not count.
func (s *supervisor) checkHung(ctx context.Context, c *supervised, row fika.Agent) {
	if !c.stopped.IsZero() {
		s.killIfOverdue(c, row.Desired)
		return
	}
	_, silent, held := s.procs.Holder(row.Name)
	if !held || silent < s.hung || s.now().Sub(row.SeenAt) < s.hung {
		return
	}
	s.killHung(ctx, c, row.ID, fmt.Sprintf("no sign of life for %s", silent.Round(time.Second)))
}

// killHung ends a hung process. Its end is then handled as a crash.
func (s *supervisor) killHung(ctx context.Context, c *supervised, id fika.AgentID, why string) {
	s.log.Warn("hung", "agent", c.spec.Name, "pid", c.proc.PID, "why", why)
	s.storeState(ctx, id, fika.AgentUnhealthy, why+"; it is ended and started again")
	s.procs.Kill(c.proc)
}

// agentsAtWork returns the agents that have running requests: if such an agent has no
// process, it must be started to continue them. It also ends processes whose step does
// not end although its request was cancelled or is past its deadline, after the time
// that a silent process is given.
func (s *supervisor) agentsAtWork(ctx context.Context) map[fika.AgentName]bool {
	names := map[fika.AgentName]bool{}
	list, err := s.store.ListRequests(ctx, store.RequestFilter{States: []fika.RequestState{fika.Running}, Limit: 1000})
	if err != nil {
		s.log.Warn("tick", "err", err)
	}
	for _, r := range list {
		if r.Origin != fika.Queued {
			continue // its person continues it
		}
		names[r.AgentName] = true
		c := s.agents[r.AgentName]
		if late := s.now().Sub(r.CancelAt); c != nil && c.running && !r.CancelAt.IsZero() && late >= s.hung {
			s.killHung(ctx, c, r.Agent, fmt.Sprintf("request %s should have ended %s ago and has not", r.ID, late.Round(time.Second)))
		}
	}
	return names
}

// tellToStop tells an agent to leave after its current step, or without finishing it.
// The signal needs no bus; the desired state is in the agent's row.
func (s *supervisor) tellToStop(c *supervised, how fika.Desired) {
	if !c.stopped.IsZero() {
		s.killIfOverdue(c, how)
		return
	}
	c.stopped = s.now()
	_ = s.bus.Publish(s.subjects.Bell(c.spec.Name), nil)
	s.procs.Terminate(c.proc, how)
}

// killIfOverdue ends a process that was told to leave and did not.
func (s *supervisor) killIfOverdue(c *supervised, how fika.Desired) {
	if s.now().Sub(c.stopped) > s.graceFor(how) {
		s.procs.Kill(c.proc)
	}
}

// graceFor returns how long a process may take to leave.
func (s *supervisor) graceFor(how fika.Desired) time.Duration {
	if how == fika.DesiredNow {
		return min(nowGrace, s.stopGrace)
	}
	return s.stopGrace
}

// onWakeUp looks at everything if the bell rings for an agent that does not run. A
// running agent hears the bell itself, and most bells ring in the middle of a chain.
func (s *supervisor) onWakeUp(name fika.AgentName) {
	c := s.agents[name]
	if s.isElsewhere(name) && (c == nil || !c.spec.Lent) {
		return
	}
	if c == nil || !c.running && !s.allRun(c.spec.Members) || c.running && !c.child && !s.procs.Alive(c.proc) {
		s.tickSoon()
	}
}

// onHeartbeat records a heartbeat: the agent is alive.
func (s *supervisor) onHeartbeat(name fika.AgentName, b message.Heartbeat) {
	if s.isElsewhere(name) {
		return
	}
	c := s.agents[name]
	if c == nil || !c.running {
		s.tickSoon() // another process started it: the next look adopts it
		return
	}
	if b.Status != string(fika.AgentStopped) && (b.PID == 0 || b.PID == c.proc.PID) {
		c.ready, c.heard = true, s.now()
	}
}

// announcesItself reports whether an outcome is announced by its agent, which has just
// finished the request.
func (s *supervisor) announcesItself(r store.RequestInfo) bool {
	c := s.agents[r.AgentName]
	return r.Addressed == "" && c != nil && c.running && s.now().Sub(r.FinishedAt) < 10*time.Second
}
