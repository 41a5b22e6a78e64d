package hub

import (
	"context"
	"encoding/json"
	"time"

	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/system/process"
)

const (
	// idleLead is for how long the leases of idle agents hold at least when those are told:
	// longer than until a process would renew its lease itself.
	idleLead = 40 * time.Second
	// heardFor is how long a process counts as alive after a heartbeat, which comes every
	// 30 s: a lease is not renewed for a process that may have stopped.
	heardFor = 35 * time.Second
)

// tellIdle looks at the database for the idle agents of this host, renews their leases, and
// tells each of them that there was nothing for it: so what idle agents cost the database
// does not depend on how many there are. A process that is told nothing looks, and renews
// its lease, itself.
func (h *Hub) tellIdle(ctx context.Context) {
	if !h.opts.LookForIdle || !h.online {
		return
	}
	asked := process.Boottime()
	list, err := h.opts.Store.Leases.ListIdle(ctx)
	if err != nil {
		h.opts.Log.Warn("look for idle agents", "err", err)
		return
	}
	until := map[store.LeaseID]time.Duration{}
	var alive []store.LeaseID
	due := false
	for _, a := range list {
		until[a.Lease] = h.renewed[a.Lease]
		if c := h.supervisor.agents[a.Agent]; c != nil && c.running && h.opts.Now().Sub(c.heard) < heardFor {
			alive = append(alive, a.Lease)
			due = due || until[a.Lease] < asked+idleLead
		}
	}
	if due {
		begun := process.Boottime()
		renewed, err := h.opts.Store.Leases.RenewIdle(ctx, alive, store.LeaseTime)
		if err != nil {
			h.opts.Log.Warn("renew idle agents", "err", err)
		}
		for _, l := range renewed {
			until[l] = begun + store.LeaseTime
		}
	}
	h.renewed = until
	for _, a := range list {
		if c := h.supervisor.agents[a.Agent]; a.Tasks && c != nil && c.spec.Board != nil {
			continue // only the agent knows whether it may take one
		}
		told := message.Idle{Type: message.TypeIdle, Lease: string(a.Lease), LookedAt: int64(asked), LeaseUntil: int64(until[a.Lease])}
		if data, err := json.Marshal(told); err == nil {
			_ = h.opts.Bus.Publish(h.opts.Subjects.Idle(a.Agent), data)
		}
	}
}
