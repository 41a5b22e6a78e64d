package app

import (
	"context"

	"fika"
	"fika/internal/chat"
)

// NeverAnswers says why an agent does not come to what it is given before a
// person does something, and what; "" when it comes by itself.
func (s *Agents) NeverAnswers(ctx context.Context, row fika.Agent) string {
	if paused, err := s.Client.Store.AllPaused(ctx); err == nil && paused {
		return "everything is paused (fika chat resume --all)"
	}
	if why := s.Client.Stuck(row.Name); why != "" {
		return why
	}
	why := chat.WhyWaits(row, s.presence(row))
	if !why.Stuck {
		return HeldHint(row, s.app.Now())
	}
	return why.Text
}
