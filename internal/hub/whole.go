package hub

import (
	"context"
	"time"

	"fika"
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
// is left, or when even killing has not helped. While it waits for requests to
// finish, the end of ctx makes it stricter.
func (h *Hub) stopAll(ctx context.Context) {
	if rows, err := h.opts.Store.ListAgents(context.Background()); err == nil {
		for _, row := range rows {
			h.charge(row.Name)
		}
	}
	h.tellAll()
	ended := ctx.Done()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for h.remaining() > 0 {
		select {
		case f := <-h.mail:
			f()
		case <-poll.C:
		case <-ended:
			ended = nil
			if h.how == fika.DesiredFinish {
				h.how = fika.DesiredStopped
				h.tellAll()
			}
		}
		if h.how != fika.DesiredFinish && h.opts.Now().Sub(h.told) > h.grace(h.how)+5*time.Second {
			return
		}
	}
}

// tellAll tells every agent to leave, in the way in which the hub ends.
func (h *Hub) tellAll() {
	h.told = h.opts.Now()
	for _, name := range h.order {
		c, _ := h.look(name)
		if !c.running {
			continue
		}
		if h.how != fika.DesiredFinish {
			c.stopped = h.told
		}
		h.opts.Processes.Terminate(c.proc, h.how)
	}
}

// remaining counts the agents that are still there, insisting where it is
// time. One that finishes its requests has all the time it needs, unless it
// gives no sign of life.
func (h *Hub) remaining() int {
	n := 0
	for name, c := range h.agents {
		if c.running && !h.opts.Processes.Alive(c.proc) {
			c.running = false
		}
		if !c.running {
			continue
		}
		n++
		if !c.stopped.IsZero() {
			h.killIfOverdue(c, h.how)
		} else if _, silent, held := h.opts.Processes.Holder(name); held && silent >= h.opts.Hung {
			h.opts.Processes.Kill(c.proc)
		}
	}
	return n
}
