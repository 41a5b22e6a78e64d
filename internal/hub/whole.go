package hub

import (
	"context"
	"strings"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// reportStarts calls Ready once: when every agent that is to run is ready or has
// failed, or when this has taken too long.
func (h *Hub) reportStarts() {
	if h.ready {
		return
	}
	late := h.opts.Now().Sub(h.begun) > h.opts.ReadyTimeout
	if list, known := h.supervisor.startedAgents(late); known {
		h.ready = true
		h.opts.Ready(list)
	}
}

// startedAgents returns the results of starting the agents that are to run. known is
// true once each is ready, has failed or has crashed repeatedly, or if late is set.
func (s *supervisor) startedAgents(late bool) (list []Started, known bool) {
	for _, name := range s.order {
		c := s.agents[name]
		if !c.running && !(c.entry && (c.spec.AutoStart || c.wantedByUser) && !c.stoppedByUser) {
			continue
		}
		one := Started{Name: name, PID: c.proc.PID, OK: c.ready, Error: c.failed}
		switch {
		case c.ready || c.failed != "":
		case !s.sharing.Fits(c.spec.RunOn):
			one.Error = "it may run on " + strings.Join(c.spec.RunOn, ", ") + " only, and this host is not that (" + hint.HostList.With() + ")"
		case len(c.crashes) > 1:
			one.Error = s.lastWords(name, Exit{Reason: "it crashes at start"})
		case late:
			one.Error = s.lastWords(name, Exit{Reason: "no sign of life yet"})
		default:
			return nil, false
		}
		list = append(list, one)
	}
	return list, true
}

// stopAll stops every agent, including those started by hand, and returns when none is
// left or even killing has not helped. While it waits for requests to finish, the end
// of ctx makes it stricter.
func (h *Hub) stopAll(ctx context.Context) {
	if rows, err := h.opts.Store.Directory.ListAgents(context.Background()); err == nil {
		for _, row := range rows {
			h.supervisor.recordOf(row.Name)
		}
	}
	h.supervisor.tellAll()
	ended := ctx.Done()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for h.supervisor.countRemaining() > 0 {
		select {
		case f := <-h.mail:
			f()
		case <-poll.C:
		case <-ended:
			ended = nil
			if h.supervisor.how == fika.DesiredFinish {
				h.supervisor.how = fika.DesiredStopped
				h.supervisor.tellAll()
			}
		}
		if h.supervisor.how != fika.DesiredFinish && h.opts.Now().Sub(h.supervisor.told) > h.supervisor.graceFor(h.supervisor.how)+5*time.Second {
			return
		}
	}
}

// tellAll tells every agent to leave, in the way in which the hub ends.
func (s *supervisor) tellAll() {
	s.told = s.now()
	for _, name := range s.order {
		c, _ := s.lookAt(name)
		if !c.running {
			continue
		}
		if s.how != fika.DesiredFinish {
			c.stopped = s.told
		}
		s.procs.Terminate(c.proc, s.how)
	}
}

// countRemaining counts the agents that still run, and kills those whose time is up. An
// agent that finishes its requests has unlimited time, unless it gives no sign of life.
func (s *supervisor) countRemaining() int {
	n := 0
	for name, c := range s.agents {
		if c.running && !s.procs.Alive(c.proc) {
			c.running = false
		}
		if !c.running {
			continue
		}
		n++
		if !c.stopped.IsZero() {
			s.killIfOverdue(c, s.how)
		} else if _, silent, held := s.procs.Holder(name); held && silent >= s.hung {
			s.procs.Kill(c.proc)
		}
	}
	return n
}
