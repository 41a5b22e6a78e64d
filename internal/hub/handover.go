package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"fika"
	"fika/internal/bus/message"
	"fika/internal/store"
)

// handOverWork hands over to backups what waits for agents that cannot work it: for an
// agent that has failed or has used up its hour, everything that nobody has begun; for
// any other agent, what waits for a budget, or for a backup. rows are all agents.
func (h *Hub) handOverWork(ctx context.Context, rows []fika.Agent) {
	if h.opts.CannotTakeOver == nil || !h.supervisor.anyBackup() {
		return
	}
	for _, row := range rows {
		if c := h.supervisor.agents[row.Name]; c != nil && len(c.spec.Members) == 0 {
			c.out = h.supervisor.whyOut(row)
		}
	}
	out := map[fika.AgentID]string{}
	for _, row := range rows {
		if why := h.supervisor.whyOut(row); why != "" {
			out[row.ID] = why
			h.handOverAll(ctx, rows, store.RequestFilter{Agent: row.ID, States: []fika.RequestState{fika.Open, fika.Waiting}}, out)
		}
	}
	h.handOverAll(ctx, rows, store.RequestFilter{States: []fika.RequestState{fika.Waiting}}, out)
}

// handOverAll hands over the requests that match a filter, oldest first. out holds the
// agents that are out, with the reason.
func (h *Hub) handOverAll(ctx context.Context, rows []fika.Agent, f store.RequestFilter, out map[fika.AgentID]string) {
	list, err := h.opts.Store.Directory.ListRequests(ctx, f)
	if err != nil {
		h.opts.Log.Warn("hand over", "err", err)
		return
	}
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		if !store.MayHandOver(r.Request) {
			continue
		}
		why := out[r.Agent]
		switch waits := fika.WaitReason(r.Reason); {
		case r.State == fika.Waiting && waits == fika.WaitBackup:
			why = fmt.Sprintf("the provider of @%s fails", r.AgentName)
		case why == "" && waits == fika.WaitLimit:
			why = fmt.Sprintf("a budget of @%s has no room for it", r.AgentName)
		}
		if why != "" {
			h.handOverOne(ctx, rows, r, why)
		}
	}
}

// handOverOne hands a request over to the first backup of the agent that was asked that
// can take it. It never goes back to the agent that was asked.
func (h *Hub) handOverOne(ctx context.Context, rows []fika.Agent, r store.RequestInfo, why string) {
	for _, name := range h.supervisor.mayTake(r) {
		to := fika.Agent{}
		for _, row := range rows {
			if row.Name == name {
				to = row
			}
		}
		if name == r.AgentName || to.ID == "" || !h.supervisor.canStart(to) || h.supervisor.whyOut(to) != "" {
			continue
		}
		switch cannot, err := h.opts.CannotTakeOver(ctx, r, name); {
		case err != nil:
			h.opts.Log.Warn("hand over", "request", r.ID, "to", name, "err", err)
			continue
		case cannot != "":
			continue
		}
		done, err := h.opts.Store.Care.HandOver(ctx, store.HandOver{Request: r.ID, From: r.Agent, To: to.ID, Why: why})
		if err != nil {
			h.opts.Log.Warn("hand over", "request", r.ID, "to", name, "err", err)
			return
		}
		if done.Done {
			h.opts.Log.Info("handed over", "request", r.ID, "from", r.AgentName, "to", name, "why", why)
			h.tellHandedOver(done)
			h.tickSoon()
			return
		}
	}
}

// tellHandedOver wakes the agent that now has a request, and informs those that listen
// to the agent that was asked.
func (h *Hub) tellHandedOver(d store.HandedOver) {
	_ = h.opts.Bus.Publish(h.opts.Subjects.Bell(d.AgentName), nil) // the row waits, whether or not anybody hears it
	data, err := json.Marshal(message.Status{
		Type: message.TypeStatus, RequestID: string(d.ID), AgentName: string(d.AskedName()), WorkedBy: string(d.AgentName), Status: message.StatusWaiting,
		Data:      message.StatusData{Kind: string(d.Kind), Message: fmt.Sprintf("handed over to @%s: %s", d.AgentName, d.Handed)},
		Timestamp: message.TimeText(h.opts.Now()), V: message.Version, ConversationID: string(d.ConversationName),
	})
	if err == nil {
		_ = h.opts.Bus.Publish(h.opts.Subjects.Status(d.AskedName()), data)
	}
}

// anyBackup reports whether any agent has a backup.
func (s *supervisor) anyBackup() bool {
	for _, c := range s.agents {
		if c.entry && len(c.spec.Backup)+len(c.spec.Members) > 0 {
			return true
		}
	}
	return false
}

// backupsOf returns the agents that can stand in for an agent, in order: the members of
// a pool, then the backups.
func (s *supervisor) backupsOf(name fika.AgentName) []fika.AgentName {
	if c := s.agents[name]; c != nil && c.entry {
		return slices.Concat(c.spec.Members, c.spec.Backup)
	}
	return nil
}

// mayTake returns the agents that a request may be handed to, in order. One whose provider
// fails goes to the backups only, the members of a pool having the same provider, and to none
// that had it before.
func (s *supervisor) mayTake(r store.RequestInfo) []fika.AgentName {
	asked := s.agents[r.AskedName()]
	if fika.WaitReason(r.Reason) != fika.WaitBackup || asked == nil || !asked.entry {
		return s.backupsOf(r.AskedName())
	}
	had := slices.IndexFunc(asked.spec.Backup, func(name fika.AgentName) bool {
		c := s.agents[name]
		return name == r.AgentName || c != nil && slices.Contains(c.spec.Members, r.AgentName)
	})
	return asked.spec.Backup[had+1:]
}

// whyOut says why an agent begins nothing although no person has stopped it; "" if it
// does begin work.
func (s *supervisor) whyOut(row fika.Agent) string {
	c := s.agents[row.Name]
	switch {
	case c == nil || row.Desired.Stopped():
		return ""
	case len(c.spec.Members) > 0:
		return s.whyAllOut(c.spec)
	case c.failed != "" && !c.running:
		return fmt.Sprintf("@%s cannot work: %s", row.Name, c.failed)
	case row.QuotaUsedUp(s.now()):
		return fmt.Sprintf("@%s reached its limit of %s", row.Name, row.HeldReason)
	}
	return ""
}

// whyAllOut says why no member of a pool begins anything; "" if one does, or would if a
// person had not stopped it.
func (s *supervisor) whyAllOut(pool Spec) string {
	if pool.Team != nil {
		return "" // those of other hosts may
	}
	why := ""
	for _, name := range pool.Members {
		c := s.agents[name]
		if c == nil || c.out == "" {
			return ""
		}
		why = c.out
	}
	return fmt.Sprintf("no member of @%s can work: %s", pool.Name, why)
}

// canStart reports whether an agent runs, or would be started for waiting work.
func (s *supervisor) canStart(row fika.Agent) bool {
	c := s.agents[row.Name]
	if c == nil || row.Desired.Stopped() {
		return false
	}
	for _, name := range c.spec.Members {
		if m := s.agents[name]; m != nil && !m.stoppedByUser && m.out == "" && (m.running || m.entry && m.spec.Wake) {
			return true
		}
	}
	return c.running || c.entry && c.spec.Wake
}
