package hub

import (
	"context"

	"fika"
	"fika/internal/store"
)

// endIfIdle ends the hub when nothing has needed it for as long as it may rest:
// no work that goes on, waits or is scheduled, no agent that is to run whether there is work
// or not, and nobody who follows what happens. atWork says that agents have some.
func (h *Hub) endIfIdle(ctx context.Context, atWork bool) {
	switch {
	case h.opts.Rest == 0:
	case atWork, h.scheduled, h.supervisor.keepsOne(), h.opts.Followed != nil && h.opts.Followed(), h.hasOpenWork(ctx):
		h.idle = h.opts.Now()
	case h.opts.Now().Sub(h.idle) >= h.opts.Rest:
		h.opts.Log.Info("nothing to do: the hub ends, and starts again when it is needed", "after", h.opts.Rest)
		h.supervisor.endWith(fika.DesiredStopped)
	}
}

// hasOpenWork reports whether a request has not ended, for whatever reason, or
// whether that cannot be found out.
func (h *Hub) hasOpenWork(ctx context.Context) bool {
	open, err := h.opts.Store.Directory.ListRequests(ctx, store.RequestFilter{States: []fika.RequestState{fika.Open, fika.Running, fika.Waiting}, Limit: 1})
	return err != nil || len(open) > 0
}

// keepsOne reports whether an agent is to run whether there is work or not.
func (s *supervisor) keepsOne() bool {
	for _, c := range s.agents {
		if c.entry && !c.stoppedByUser && (c.spec.AutoStart || c.spec.Persistent && c.running) {
			return true
		}
	}
	return false
}
