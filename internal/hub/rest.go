package hub

import (
	"context"

	"fika"
	"fika/internal/store"
)

// endIfIdle ends the hub if nothing has needed it for Rest: no running, waiting or
// scheduled work, no agent that must run even without work, and nobody who follows
// events. atWork says that agents have work.
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

// hasOpenWork reports whether any request has not ended, for whatever reason, or any
// background command runs. It is also true if that cannot be found out.
func (h *Hub) hasOpenWork(ctx context.Context) bool {
	open, err := h.opts.Store.Directory.ListRequests(ctx, store.RequestFilter{States: fika.UnfinishedStates(), Limit: 1})
	if err != nil || len(open) > 0 {
		return true
	}
	jobs, err := h.opts.Store.Directory.ListJobs(ctx, store.JobFilter{Running: true, Limit: 1})
	return err != nil || len(jobs) > 0
}

// keepsOne reports whether any agent must run even without work.
func (s *supervisor) keepsOne() bool {
	for _, c := range s.agents {
		if c.entry && !c.stoppedByUser && (c.spec.AutoStart || c.spec.Persistent && c.running) {
			return true
		}
	}
	return false
}
