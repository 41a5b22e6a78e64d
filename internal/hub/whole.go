package hub

import (
	"context"
	"time"
)

// report calls Ready once: when every agent that is to run is there or has
// failed, or when it has taken too long.
func (h *Hub) report() {
	if h.ready {
		return
	}
	late := h.opts.Now().Sub(h.begun) > h.opts.ReadyTimeout
	var list []Started
	for _, name := range h.order {
		c := h.agents[name]
		if !c.running && !(c.entry && (c.spec.AutoStart || c.hoped) && !c.resting) {
			continue
		}
		s := Started{Name: name, PID: c.proc.PID, OK: c.ready, Error: c.failed}
		switch {
		case c.ready || c.failed != "":
		case len(c.crashes) > 1:
			s.Error = h.lastWords(name, Exit{Reason: "it crashes at start"})
		case late:
			s.Error = h.lastWords(name, Exit{Reason: "no sign of life yet"})
		default:
			return
		}
		list = append(list, s)
	}
	h.ready = true
	h.opts.Ready(list)
}

// stopAll stops every agent, those started by hand too, and returns when none
// is left, or when even killing has not helped.
func (h *Hub) stopAll() {
	h.ending = true
	if rows, err := h.opts.Store.ListAgents(context.Background()); err == nil {
		for _, row := range rows {
			h.charge(row.Name)
		}
	}
	for _, name := range h.order {
		if c, _ := h.look(name); c.running {
			h.stop(c)
		}
	}
	deadline := time.NewTimer(h.opts.StopGrace + 5*time.Second)
	defer deadline.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for h.remaining() > 0 {
		select {
		case f := <-h.mail:
			f()
		case <-poll.C:
		case <-deadline.C:
			return
		}
	}
}

// remaining counts the agents that are still there, insisting where it is time.
func (h *Hub) remaining() int {
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
