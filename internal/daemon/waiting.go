package daemon

import (
	"context"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/hub"
)

// whyWaiting returns a function that says, as the hub sees it, what keeps an agent from
// a request that it was just given, and what to do; "" if nothing does. For clients,
// [client.Availability.NeverAnswers] says the same.
func (h hubHome) whyWaiting(procs hub.Processes) func(context.Context, fika.Agent) string {
	return func(ctx context.Context, row fika.Agent) string {
		if paused, err := h.store.AllPaused(ctx); err == nil && paused {
			return "everything is paused (fika chat resume --all)"
		}
		if row.IsPool() {
			return "" // one of its members takes it
		}
		p := chat.Presence{Hub: true}
		if c, err := h.app.Config(); err == nil {
			e := c.Agent(row.Name)
			if p.Wakes = e != nil && e.Wake; e != nil && len(e.Backup) > 0 && row.State == fika.AgentFailed {
				return "" // a hand-over is reported when it happens
			}
		}
		_, _, p.Alive = procs.Holder(row.Name)
		if row.State == fika.AgentFailed {
			p.Failed = row.StateReason
		}
		if why := chat.WhyWaits(row, p); why.Stuck {
			return why.Text
		}
		return app.QuotaHint(row, h.app.Now())
	}
}
