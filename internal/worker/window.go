package worker

import (
	"context"
	"math"

	"fika"
	"fika/internal/folder"
	"fika/internal/store"
)

// ReadWindow returns the entries of a conversation after its last compaction, and the
// entries that the compaction kept.
func ReadWindow(ctx context.Context, s *store.Store, c fika.ConversationID) ([]fika.Entry, error) {
	cut, err := s.LastCompaction(ctx, c, "", math.MaxInt64)
	if err != nil {
		return nil, err
	}
	q := store.EntryQuery{Conversation: c}
	if cut != nil && len(cut.Meta.Kept) == 0 {
		q.Since = cut.Meta.UpTo
	}
	all, err := s.Entries(ctx, q)
	if err != nil {
		return nil, err
	}
	_, window := folder.SplitWindow(all)
	return window, nil
}

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
