package worker

import (
	"context"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// EntrySource lets the mirror of a context read the agent's ask conversations.
type EntrySource struct {
	Store *store.Store
	Agent fika.AgentName
}

// Asks returns the ask conversations, oldest first.
func (s EntrySource) Asks(ctx context.Context) ([]folder.AskHead, error) {
	agent, err := s.Store.Agent(ctx, s.Agent)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.AskConversations(ctx, agent.ID)
	if err != nil {
		return nil, err
	}
	out := make([]folder.AskHead, len(list))
	for i, c := range list {
		out[i] = folder.AskHead{ID: c.ID, LastSeq: c.LastSeq, Active: c.ID == agent.ActiveAsk, ArchivedTo: c.ArchivedTo}
	}
	return out, nil
}

// EntriesAfter returns up to limit entries after since.
func (s EntrySource) EntriesAfter(ctx context.Context, c fika.ConversationID, since int64, limit int) ([]fika.Entry, error) {
	return s.Store.Entries(ctx, store.EntryQuery{Conversation: c, Since: since, First: limit})
}

// Compactions returns the compactions up to a seq.
func (s EntrySource) Compactions(ctx context.Context, c fika.ConversationID, upto int64) ([]fika.Entry, error) {
	if upto <= 0 {
		return nil, nil // 0 would be no bound
	}
	return s.Store.Entries(ctx, store.EntryQuery{Conversation: c, Upto: upto, Types: []fika.EntryType{fika.Compaction}})
}
