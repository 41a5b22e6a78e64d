package worker

import (
	"context"

	"fika"
	"fika/internal/store"
)

// CountUnread returns the number of messages of a conversation that no turn of its
// agent has read.
func CountUnread(ctx context.Context, s *store.Store, c fika.Conversation) (int, error) {
	list, err := s.ListConversations(ctx, store.ConversationFilter{Kind: fika.Ask, Agent: c.Agent})
	if err != nil {
		return 0, err
	}
	for _, info := range list {
		if info.ID == c.ID {
			return info.Pending, nil
		}
	}
	return 0, nil
}
