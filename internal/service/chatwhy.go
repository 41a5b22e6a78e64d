package service

import (
	"context"

	"fika"
	"fika/internal/chat"
)

// Why explains why an entry, given by seq or id, did or did not start a turn of an
// agent. It returns NotFound if there is no such entry.
func (s *Chats) Why(ctx context.Context, conv fika.Conversation, entry string, row fika.Agent) (Why, error) {
	if err := s.c.mayConversation(ctx, "conversation.why", conv.ID); err != nil {
		return Why{}, err
	}
	return chat.ExplainEntry(ctx, s.c.store, conv, entry, row, func(ctx context.Context) ([]QueueItem, error) {
		return s.Queue(ctx, conv.ID)
	})
}
