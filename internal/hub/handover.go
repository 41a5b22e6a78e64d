package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"fika"
	"fika/internal/message"
	"fika/internal/store"
)

// handOverWork gives what waits for agents that cannot work it to their backups:
// of one that has failed or has used up its hour all that nobody has begun, of
// any other what waits for a budget. rows are all agents.
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

// handOverAll hands over what a filter finds, the oldest first. out says which agents are out, and why.
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
		if why == "" && fika.WaitReason(r.Reason) == fika.WaitLimit {
			why = fmt.Sprintf("a budget of @%s has no room for it", r.AgentName)
		}
		if why != "" {
			h.handOverOne(ctx, rows, r, why)
		}
	}
}

// handOverOne gives a request to the first backup of the agent that was asked
// which can take it. Whom it goes to once does not give it back.
func (h *Hub) handOverOne(ctx context.Context, rows []fika.Agent, r store.RequestInfo, why string) {
	for _, name := range h.supervisor.backupsOf(r.AskedName()) {
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

// tellHandedOver wakes whoever has a request now, and tells whoever listens to
// the agent that was asked.
func (h *Hub) tellHandedOver(d store.HandedOver) {
	_ = h.opts.Bus.Publish(h.opts.Subjects.Bell(d.AgentName), nil) // the row waits, whoever hears it
	data, err := json.Marshal(message.Status{
		Type: message.TypeStatus, RequestID: string(d.ID), AgentName: string(d.AskedName()), WorkedBy: string(d.AgentName), Status: message.StatusWaiting,
		Data:      message.StatusData{Kind: string(d.Kind), Message: fmt.Sprintf("handed over to @%s: %s", d.AgentName, d.Handed)},
		Timestamp: message.TimeText(h.opts.Now()), V: message.Version, ConversationID: string(d.ConversationName),
	})
	if err == nil {
		_ = h.opts.Bus.Publish(h.opts.Subjects.Status(d.AskedName()), data)
	}
}

// anyBackup reports whether any agent has one.
func (s *supervisor) anyBackup() bool {
	for _, c := range s.agents {
		if c.entry && len(c.spec.Backup)+len(c.spec.Members) > 0 {
			return true
		}
	}
	return false
}

// backupsOf are the backups of an agent, in their order.
func (s *supervisor) backupsOf(name fika.AgentName) []fika.AgentName {
	if c := s.agents[name]; c != nil && c.entry {
		return slices.Concat(c.spec.Members, c.spec.Backup)
	}
	return nil
}

// whyOut says why an agent begins nothing, other than that a person wants it so;
// empty: it does.
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
		return fmt.Sprintf("@%s has used up its %s", row.Name, row.HeldReason)
	}
	return ""
}

// whyAllOut says why no member of a pool begins anything; empty: one does, or one
// was stopped by hand and would.
func (s *supervisor) whyAllOut(pool Spec) string {
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

// canStart reports whether an agent runs, or is started when work waits for it.
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
