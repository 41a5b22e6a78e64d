package app

import (
	"context"

	"fika"
	"fika/internal/chat"
	"fika/internal/hub"
	"fika/internal/store"
)

// whyWaiting says, as the hub sees it, what keeps an agent from a request that
// it was just given, and what helps; empty: nothing does. Clients have
// Agents.NeverAnswers of package client, which says the same.
func (a *App) whyWaiting(s *store.Store, procs hub.Processes) func(context.Context, fika.Agent) string {
	return func(ctx context.Context, row fika.Agent) string {
		if paused, err := s.AllPaused(ctx); err == nil && paused {
			return "everything is paused (fika chat resume --all)"
		}
		p := chat.Presence{Hub: true}
		if c, err := a.Config(); err == nil {
			e := c.Agent(row.Name)
			p.Wakes = e != nil && e.Wake
		}
		_, _, p.Alive = procs.Holder(row.Name)
		if row.State == fika.AgentFailed {
			p.Failed = row.StateReason
		}
		if why := chat.WhyWaits(row, p); why.Stuck {
			return why.Text
		}
		return QuotaHint(row, a.Now())
	}
}
