package worker

import (
	"context"
	"fika"
	"fika/internal/folder"
	"fika/internal/store"
	"math"
)

// ReadWindow reads the entries of a conversation after its last compaction, and
// those that it kept.
func ReadWindow(ctx context.Context, s *store.Store, c fika.ConversationID) ([]fika.Entry, error) {
	cut, err := s.LastCompaction(ctx, c, math.MaxInt64)
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
