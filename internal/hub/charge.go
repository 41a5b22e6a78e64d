package hub

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fika"
	"fika/internal/crash"
	"fika/internal/message"
	"fika/internal/process"
	"fika/internal/store"
)

const (
	budget      = 5 // restarts …
	budgetSpan  = time.Minute
	firstDelay  = 250 * time.Millisecond
	longDelay   = 8 * time.Second
	nowGrace    = 4 * time.Second // for a process that was told to leave at once
	calmDelay   = time.Second     // before an agent that left politely is started again
	exitLocked  = 4               // somebody else has the context
	exitInvalid = 2               // config: starting again changes nothing
)

// charge is one agent under supervision.
type charge struct {
	spec     Spec
	entry    bool // it has an [[agents]] entry: the hub may start it
	proc     fika.Process
	running  bool
	child    bool // started by this hub, not adopted
	ready    bool // it has given a sign of life
	asked    bool // it was started by this hub: auto_start has had its due
	resting  bool // a person wants it stopped
	hoped    bool // a person wants it running
	failed   string
	hindered bool // it failed before it was started, by [Options.Hindered]
	refused  bool // it failed because its process found its settings wrong
	checked  int  // Hub.reloads when it was last seen that nothing hinders it
	reloads  int  // Hub.reloads then
	crashes  []time.Time
	left     time.Time     // when it ended last
	pause    time.Duration // from then on, before it is started again: backoff
	stopped  time.Time     // when it was told to stop; zero: it was not
}

// rest says that the agent is not to be started again before its pause is over.
func (c *charge) rest(now time.Time, pause time.Duration) { c.left, c.pause = now, pause }

// rested reports whether it may be started. A clock that was set back does not
// prolong the pause.
func (c *charge) rested(now time.Time) bool {
	passed := now.Sub(c.left)
	return passed < 0 || passed >= c.pause
}

// charge gives the agent's record, made on first sight.
func (h *Hub) charge(name fika.AgentName) *charge {
	c := h.agents[name]
	if c != nil {
		return c
	}
	c = &charge{spec: Spec{Name: name}}
	h.agents[name] = c
	h.order = append(h.order, name)
	if h.opts.Admit != nil {
		if err := h.opts.Admit(name); err != nil {
			h.opts.Log.Warn("bus credentials", "agent", name, "err", err)
		}
	}
	return c
}

// look updates what is known of an agent's process from its lock. left is true
// when a process that this hub did not start itself has gone since.
func (h *Hub) look(name fika.AgentName) (c *charge, left bool) {
	c = h.charge(name)
	if c.running && !c.child && !h.opts.Processes.Alive(c.proc) {
		c.running, c.ready, left = false, false, true
	}
	if c.running {
		return c, false
	}
	if p, _, held := h.opts.Processes.Holder(name); held {
		c.proc, c.running, c.child, c.ready, c.stopped = p, true, false, false, time.Time{}
		h.opts.Log.Info("adopted", "agent", name, "pid", p.PID)
		return c, false
	}
	return c, left
}

// attend does what one agent needs now.
func (h *Hub) attend(ctx context.Context, row fika.Agent, work bool) {
	c, left := h.look(row.Name)
	c.resting, c.hoped = row.Desired.Stopped(), row.Desired == fika.DesiredRunning
	switch {
	case left:
		h.gone(ctx, c)
	case c.running && (row.Desired == fika.DesiredStopped || row.Desired == fika.DesiredNow):
		h.stop(c, row.Desired)
	case c.running && row.Desired == fika.DesiredFinish:
		// It has read that itself; only silence makes it wait no longer.
		h.checkHung(ctx, c, row)
	case c.running:
		h.notice(c, row)
		h.checkHung(ctx, c, row)
	case c.resting:
		h.rest(ctx, row)
	case !c.entry:
	case row.State == fika.AgentFailed && c.failed != "" && !h.mended(ctx, c, row.ID):
	case h.wanted(c, row, work):
		if c.rested(h.opts.Now()) {
			h.start(ctx, c, row)
		}
	case c.checked != h.reloads: // lists say what hinders it before it is needed
		c.checked = h.reloads
		h.hindered(ctx, c, row.ID)
	}
}

// rest makes the way in which an agent was to stop a mere "stopped", and tidies
// the state that a process left which could not.
func (h *Hub) rest(ctx context.Context, row fika.Agent) {
	if row.Desired != fika.DesiredStopped {
		if err := h.opts.Store.ReplaceDesired(ctx, row.ID, row.Desired, fika.DesiredStopped); err != nil {
			h.opts.Log.Warn("it is stopped, which could not be stored", "agent", row.Name, "err", err)
		}
	}
	if row.State != fika.AgentStopped {
		h.setState(ctx, row.ID, fika.AgentStopped, "")
	}
}

// setState stores how an agent is, as far as the hub can see. It is told of
// when it cannot be stored: a later look stores it again, or finds better.
func (h *Hub) setState(ctx context.Context, id fika.AgentID, state fika.AgentState, why string) {
	if err := h.opts.Store.SetState(ctx, id, state, why); err != nil {
		h.opts.Log.Warn("the state of an agent could not be stored", "agent", id, "state", state, "why", why, "err", err)
	}
}

// notice takes the agent's own word, in its row, that it is ready.
func (h *Hub) notice(c *charge, row fika.Agent) {
	if !c.ready && (row.State == fika.AgentIdle || row.State == fika.AgentBusy) && process.Owns(row.Owner, c.proc.PID) {
		c.ready = true
	}
}

// wanted says whether an agent should run.
func (h *Hub) wanted(c *charge, row fika.Agent, work bool) bool {
	if row.State != fika.AgentFailed && c.failed != "" {
		c.failed, c.crashes, c.pause = "", nil, 0 // a person said start again
	}
	return row.Desired == fika.DesiredRunning || (c.spec.AutoStart && (c.spec.Persistent || !c.asked)) || (c.spec.Wake && work)
}

func (h *Hub) start(ctx context.Context, c *charge, row fika.Agent) {
	c.asked = true
	if h.hindered(ctx, c, row.ID) {
		return
	}
	name := c.spec.Name
	h.setState(ctx, row.ID, fika.AgentStarting, row.StateReason)
	crash.Point("wake.before")
	p, err := h.opts.Processes.Spawn(name, func(x Exit) { h.post(func() { h.exited(name, x) }) })
	if err != nil {
		h.crashed(ctx, c, row.ID, err.Error())
		return
	}
	crash.Point("wake.after")
	c.proc, c.running, c.child, c.ready, c.stopped = p, true, true, false, time.Time{}
	h.opts.Log.Info("started", "agent", name, "pid", p.PID)
}

// exited handles the end of a child.
func (h *Hub) exited(name fika.AgentName, x Exit) {
	ctx := context.Background()
	c := h.agents[name]
	told := !c.stopped.IsZero()
	c.running, c.ready, c.stopped = false, false, time.Time{}
	h.opts.Log.Info("exited", "agent", name, "how", x.Reason)
	if h.ending {
		return
	}
	row, err := h.opts.Store.Agent(ctx, name)
	if err != nil {
		h.opts.Log.Warn("exited", "agent", name, "err", err)
		return
	}
	switch {
	case told || x.Code == 0 || row.Desired.Stopped():
		h.left(ctx, c, row)
	case x.Code == exitLocked:
		c.rest(h.opts.Now(), calmDelay) // its owner is another process, which the next look adopts
		h.setState(ctx, row.ID, fika.AgentStopped, h.lastWords(name, x))
	case x.Code == exitInvalid:
		h.markFailed(ctx, c, row.ID, "it cannot start: "+h.lastWords(name, x))
		c.refused = true
	default:
		h.crashed(ctx, c, row.ID, h.lastWords(name, x))
	}
	h.nudge()
}

// gone handles the end of a process that this hub did not start: a polite one
// has given its lease back.
func (h *Hub) gone(ctx context.Context, c *charge) {
	told := !c.stopped.IsZero()
	c.stopped = time.Time{}
	row, err := h.opts.Store.Agent(ctx, c.spec.Name)
	if err != nil {
		return
	}
	h.opts.Log.Info("gone", "agent", row.Name, "pid", c.proc.PID)
	if told || row.Desired.Stopped() || row.Owner == "" {
		h.left(ctx, c, row)
	} else {
		h.crashed(ctx, c, row.ID, h.lastWords(row.Name, Exit{Reason: fmt.Sprintf("process %d ended without a word", c.proc.PID)}))
	}
	h.nudge()
}

// left notes a polite end. What is wanted of the agent is not changed here: it
// may have been wished for after the process had decided to leave.
func (h *Hub) left(ctx context.Context, c *charge, row fika.Agent) {
	h.setState(ctx, row.ID, fika.AgentStopped, "")
	if !row.Desired.Stopped() {
		c.rest(h.opts.Now(), calmDelay)
		time.AfterFunc(calmDelay, h.nudge)
	}
}

// crashed plans a restart, or gives up when the budget is spent.
func (h *Hub) crashed(ctx context.Context, c *charge, id fika.AgentID, why string) {
	now := h.opts.Now()
	c.crashes = slices.DeleteFunc(c.crashes, func(t time.Time) bool { return now.Sub(t) >= budgetSpan })
	c.crashes = append(c.crashes, now)
	if len(c.crashes) > budget {
		h.markFailed(ctx, c, id, fmt.Sprintf("%d crashes within %s (fika agent start %s tries again); the last: %s", len(c.crashes), budgetSpan, c.spec.Name, why))
		return
	}
	delay := min(firstDelay<<(len(c.crashes)-1), longDelay)
	c.rest(now, delay)
	h.opts.Log.Warn("crashed", "agent", c.spec.Name, "why", why, "again_in", delay)
	h.setState(ctx, id, fika.AgentUnhealthy, why)
	time.AfterFunc(delay, h.nudge)
}

// markFailed gives an agent up. It begins again when what made it fail may have
// gone away (see [Hub.mended]), or when a person starts it; why, which is shown
// wherever the agent is, says so where only a person can.
func (h *Hub) markFailed(ctx context.Context, c *charge, id fika.AgentID, why string) {
	c.failed, c.crashes = why, nil
	c.hindered, c.refused, c.reloads = false, false, h.reloads
	h.opts.Log.Error("failed", "agent", c.spec.Name, "why", why)
	h.setState(ctx, id, fika.AgentFailed, why)
}

func (h *Hub) lastWords(name fika.AgentName, x Exit) string {
	if lines := h.opts.Processes.LastLines(name, 3); lines != "" {
		return x.Reason + "; its log ends: " + lines
	}
	return x.Reason
}

// checkHung ends a process that has given no sign of life, by lock and by
// lease, for too long. The bus has no say in it.
func (h *Hub) checkHung(ctx context.Context, c *charge, row fika.Agent) {
	if !c.stopped.IsZero() {
		h.killIfOverdue(c, row.Desired)
		return
	}
	_, silent, held := h.opts.Processes.Holder(row.Name)
	if !held || silent < h.opts.Hung || h.opts.Now().Sub(row.SeenAt) < h.opts.Hung {
		return
	}
	h.kill(ctx, c, row.ID, fmt.Sprintf("no sign of life for %s", silent.Round(time.Second)))
}

// kill ends a hung process; its end is then handled as a crash.
func (h *Hub) kill(ctx context.Context, c *charge, id fika.AgentID, why string) {
	h.opts.Log.Warn("hung", "agent", c.spec.Name, "pid", c.proc.PID, "why", why)
	h.setState(ctx, id, fika.AgentUnhealthy, why+"; it is ended and started again")
	h.opts.Processes.Kill(c.proc)
}

// atWork names the agents that have running requests: one that has no process
// any more is needed to go on with them. It ends processes whose step does not
// end although its request was cancelled, or is past its deadline, for as long
// as a silent process may be.
func (h *Hub) atWork(ctx context.Context) map[fika.AgentName]bool {
	names := map[fika.AgentName]bool{}
	list, err := h.opts.Store.ListRequests(ctx, store.RequestFilter{States: []fika.RequestState{fika.Running}, Limit: 1000})
	if err != nil {
		h.opts.Log.Warn("tick", "err", err)
	}
	for _, r := range list {
		if r.Origin != fika.Queued {
			continue // its person's to go on with
		}
		names[r.AgentName] = true
		c := h.agents[r.AgentName]
		if late := h.opts.Now().Sub(r.CancelAt); c != nil && c.running && !r.CancelAt.IsZero() && late >= h.opts.Hung {
			h.kill(ctx, c, r.Agent, fmt.Sprintf("request %s should have ended %s ago and has not", r.ID, late.Round(time.Second)))
		}
	}
	return names
}

// stop tells an agent to leave after its current step, or without finishing
// it. The signal needs no bus; that it is wanted, and how, stands in its row.
func (h *Hub) stop(c *charge, how fika.Desired) {
	if !c.stopped.IsZero() {
		h.killIfOverdue(c, how)
		return
	}
	c.stopped = h.opts.Now()
	_ = h.opts.Bus.Publish(h.opts.Subjects.Bell(c.spec.Name), nil)
	h.opts.Processes.Terminate(c.proc, how)
}

// killIfOverdue ends a process that was told to leave and did not.
func (h *Hub) killIfOverdue(c *charge, how fika.Desired) {
	if h.opts.Now().Sub(c.stopped) > h.grace(how) {
		h.opts.Processes.Kill(c.proc)
	}
}

// grace is how long a process may take to leave.
func (h *Hub) grace(how fika.Desired) time.Duration {
	if how == fika.DesiredNow {
		return min(nowGrace, h.opts.StopGrace)
	}
	return h.opts.StopGrace
}

// rung looks at everything when a bell rings for an agent that nobody runs. One
// that runs hears it itself, and most bells ring in the middle of a chain.
func (h *Hub) rung(name fika.AgentName) {
	c := h.agents[name]
	if c == nil || !c.running || !c.child && !h.opts.Processes.Alive(c.proc) {
		h.nudge()
	}
}

// heard notes a heartbeat: the agent is there.
func (h *Hub) heard(name fika.AgentName, b message.Heartbeat) {
	c := h.agents[name]
	if c == nil || !c.running {
		h.nudge() // somebody has started it: the next look adopts it
		return
	}
	if b.Status != string(fika.AgentStopped) && (b.PID == 0 || b.PID == c.proc.PID) {
		c.ready = true
	}
}
