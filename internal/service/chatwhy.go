package service

import (
	"context"
	"strconv"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/chat"
	"fika/internal/rights/limit"
)

// Why explains why an entry, given by seq or id, did or did not start a turn of an
// agent. It returns NotFound if there is no such entry.
func (s *Chats) Why(ctx context.Context, conv fika.Conversation, entry string, row fika.Agent) (Why, error) {
	if err := s.c.mayConversation(ctx, "conversation.why", conv.ID); err != nil {
		return Why{}, err
	}
	why, err := chat.ExplainEntry(ctx, s.c.store, conv, entry, row, func(ctx context.Context) ([]QueueItem, error) {
		return s.Queue(ctx, conv.ID)
	})
	if err != nil || why.Request == "" {
		return why, err
	}
	r, err := s.c.store.Request(ctx, why.Request)
	if u := r.Outcome.Usage; err == nil && r.State.Terminal() && strings.HasPrefix(r.Outcome.Model, fika.GuestModels) && u != (fika.Usage{}) {
		why.Lines = append(why.Lines, api.Stands(api.WhySpent, "tokens", strconv.FormatInt(u.Input+u.Output, 10), "cost", costInWords(u)))
	}
	return why, err
}

// costInWords says what the turn of a guest cost.
func costInWords(u fika.Usage) string {
	switch {
	case u.Unpriced && u.Cost > 0:
		return limit.DollarText(u.Cost) + " and an unknown amount"
	case u.Unpriced:
		return "an unknown amount"
	case u.Subscription:
		return "nothing beside its subscription"
	}
	return limit.DollarText(u.Cost)
}
