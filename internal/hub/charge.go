package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fika"
	"fika/internal/message"
)

const (
	budget      = 5 // restarts …
	budgetSpan  = time.Minute
	firstDelay  = 250 * time.Millisecond
	longDelay   = 8 * time.Second
	exitLocked  = 4 // somebody else has the context
	exitInvalid = 2 // config: starting again changes nothing
)

// charge is one agent under supervision.
type charge struct {
	spec    Spec
	entry   bool // it has an [[agents]] entry: the hub may start it
	proc    fika.Process
	running bool
	child   bool // started by this hub, not adopted
	ready   bool
	asked   bool // auto-started by this hub: Ready waits for it
	failed  string
	crashes []time.Time
	after   time.Time // not before: backoff
	stopped time.Time // when it was told to stop; zero: it was not
}

// adopt finds the agents that outlived an earlier hub, or were started by
// hand, before anything is started.
func (h *Hub) adopt() {
	for _, name := range h.order {
		h.look(name)
	}
}

// look updates what is known of an agent's process from its lock.
func (h *Hub) look(name fika.AgentName) *charge {
	c := h.agents[name]
	if c == nil {
		c = &charge{spec: Spec{Name: name}}
		h.agents[name] = c
		h.order = append(h.order, name)
		if h.opts.Admit != nil {
			if err := h.opts.Admit(name); err != nil {
				h.opts.Log.Warn("bus credentials", "agent", name, "err", err)
			}
		}
	}
	if c.running && !c.child && !h.opts.Processes.Alive(c.proc) {
		c.running, c.ready, c.stopped = false, false, time.Time{}
	}
	if c.running {
		return c
	}
	if p, _, held := h.opts.Processes.Holder(name); held {
		c.proc, c.running, c.child, c.ready = p, true, false, true
		h.opts.Log.Info("adopted", "agent", name, "pid", p.PID)
	}
	return c
}

// attend does what one agent needs now.
func (h *Hub) attend(ctx context.Context, row fika.Agent, work bool) {
	c := h.look(row.Name)
	switch {
	case c.running && row.Desired == fika.DesiredStopped:
		h.stop(c, "")
	case c.running:
		h.checkHung(ctx, c, row)
	case !c.entry || row.Desired == fika.DesiredStopped:
	case row.State == fika.AgentFailed && c.failed != "":
	case h.wanted(c, row, work) && !h.opts.Now().Before(c.after):
		h.start(ctx, c, row)
	}
}

// wanted says whether an agent should run.
func (h *Hub) wanted(c *charge, row fika.Agent, work bool) bool {
	if row.State != fika.AgentFailed {
		c.failed = "" // a person said start again
	}
	return row.Desired == fika.DesiredRunning || (c.spec.AutoStart && (c.spec.Persistent || !c.asked)) || (c.spec.Wake && work)
}

func (h *Hub) start(ctx context.Context, c *charge, row fika.Agent) {
	c.asked = true
	name := c.spec.Name
	p, err := h.opts.Processes.Spawn(name, func(x Exit) { h.post(func() { h.exited(name, x) }) })
	if err != nil {
		h.crashed(ctx, c, row.ID, err.Error())
		return
	}
	c.proc, c.running, c.child, c.ready, c.stopped = p, true, true, false, time.Time{}
	_ = h.opts.Store.SetState(ctx, row.ID, fika.AgentStarting, "")
	h.opts.Log.Info("started", "agent", name, "pid", p.PID)
}

// exited handles the end of a child.
func (h *Hub) exited(name fika.AgentName, x Exit) {
	ctx := context.Background()
	c := h.agents[name]
	told := !c.stopped.IsZero()
	c.running, c.ready, c.stopped = false, false, time.Time{}
	h.opts.Log.Info("exited", "agent", name, "how", x.Reason)
	row, err := h.opts.Store.Agent(ctx, name)
	if err != nil || h.ending {
		return
	}
	switch {
	case told || x.Code == 0:
		_ = h.opts.Store.SetState(ctx, row.ID, fika.AgentStopped, "")
		if !c.spec.Persistent && row.Desired == fika.DesiredRunning {
			_ = h.opts.Store.SetDesired(ctx, row.ID, fika.DesiredNone)
		}
	case x.Code == exitLocked:
		c.after = h.opts.Now().Add(time.Second) // its owner is another process, which the next look adopts
	case x.Code == exitInvalid:
		h.give(ctx, c, row.ID, "it cannot start: "+h.lastWords(name, x))
	default:
		h.crashed(ctx, c, row.ID, h.lastWords(name, x))
	}
	h.tick(ctx)
}

// crashed plans a restart, or gives up when the budget is spent.
func (h *Hub) crashed(ctx context.Context, c *charge, id fika.AgentID, why string) {
	now := h.opts.Now()
	recent := c.crashes[:0]
	for _, t := range c.crashes {
		if now.Sub(t) < budgetSpan {
			recent = append(recent, t)
		}
	}
	c.crashes = append(recent, now)
	if len(c.crashes) > budget {
		h.give(ctx, c, id, fmt.Sprintf("%d crashes in %s: %s", len(c.crashes), budgetSpan, why))
		return
	}
	delay := min(firstDelay<<(len(c.crashes)-1), longDelay)
	c.after = now.Add(delay)
	h.opts.Log.Warn("crashed", "agent", c.spec.Name, "why", why, "again_in", delay)
	_ = h.opts.Store.SetState(ctx, id, fika.AgentUnhealthy, why)
	time.AfterFunc(delay, func() { h.post(func() { h.tick(context.Background()) }) })
}

func (h *Hub) give(ctx context.Context, c *charge, id fika.AgentID, why string) {
	c.failed, c.crashes = why, nil
	h.opts.Log.Error("failed", "agent", c.spec.Name, "why", why)
	_ = h.opts.Store.SetState(ctx, id, fika.AgentFailed, why)
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
		h.insist(c)
		return
	}
	_, silent, held := h.opts.Processes.Holder(row.Name)
	if !held || silent < h.opts.Hung || h.opts.Now().Sub(row.SeenAt) < h.opts.Hung {
		return
	}
	h.opts.Log.Warn("hung", "agent", row.Name, "pid", c.proc.PID, "silent", silent)
	_ = h.opts.Store.SetState(ctx, row.ID, fika.AgentUnhealthy, fmt.Sprintf("no sign of life for %s; ending it", silent.Round(time.Second)))
	h.opts.Processes.Kill(c.proc)
}

// stop tells an agent to leave; the wish is a row, the message only rings.
func (h *Hub) stop(c *charge, mode string) {
	if !c.stopped.IsZero() {
		h.insist(c)
		return
	}
	c.stopped = h.opts.Now()
	data, _ := json.Marshal(message.Control{Action: "shutdown", Mode: mode})
	_ = h.opts.Bus.Publish(h.opts.Subjects.Control(c.spec.Name), data)
	if mode == "" {
		h.opts.Processes.Terminate(c.proc) // means the same, and needs no bus
	}
}

// insist ends a process that was told to leave and did not.
func (h *Hub) insist(c *charge) {
	if h.opts.Now().Sub(c.stopped) > h.opts.StopGrace {
		h.opts.Processes.Kill(c.proc)
	}
}

// heard notes a heartbeat: the agent is there.
func (h *Hub) heard(name fika.AgentName, _ message.Heartbeat) {
	if c := h.agents[name]; c != nil && c.running {
		c.ready = true
	} else if c == nil || !c.running {
		h.look(name)
	}
}

// report calls Ready once: when every auto-started agent is there or has
// failed, or when it has taken too long.
func (h *Hub) report() {
	if h.ready {
		return
	}
	late := h.opts.Now().Sub(h.begun) > h.opts.ReadyTimeout
	var list []Started
	for _, name := range h.order {
		c := h.agents[name]
		if !c.spec.AutoStart && !c.running {
			continue
		}
		s := Started{Name: name, PID: c.proc.PID, OK: c.ready, Error: c.failed}
		switch {
		case c.ready || c.failed != "":
		case len(c.crashes) > 1:
			s.Error = h.lastWords(name, Exit{Reason: "it crashes at start"})
		case late:
			s.Error = "no sign of life yet"
		default:
			return
		}
		list = append(list, s)
	}
	h.ready = true
	h.opts.Ready(list)
}

// stopAll stops every agent and returns when none is left, or when even
// killing has not helped.
func (h *Hub) stopAll() {
	h.ending = true
	for _, name := range h.order {
		if c := h.look(name); c.running {
			h.stop(c, "")
		}
	}
	deadline := time.NewTimer(h.opts.StopGrace + 5*time.Second)
	defer deadline.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		if h.left() == 0 {
			return
		}
		select {
		case f := <-h.mail:
			f()
		case <-poll.C:
		case <-deadline.C:
			return
		}
	}
}

// left counts the agents that are still there, insisting where it is time.
func (h *Hub) left() int {
	n := 0
	for _, c := range h.agents {
		if c.running && !h.opts.Processes.Alive(c.proc) {
			c.running = false
		}
		if c.running {
			n++
			h.insist(c)
		}
	}
	return n
}
