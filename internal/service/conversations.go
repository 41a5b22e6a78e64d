package service

import (
	"context"

	"fika"
	"fika/internal/text/hint"
)

// Conversations is the interface for finding and reading conversations of any
// kind.
type Conversations struct{ c *Service }

// List returns conversations, newest first.
func (s *Conversations) List(ctx context.Context, f ConversationFilter) ([]ConversationInfo, error) {
	return s.c.sight().conversations(ctx, f)
}

// Active returns the ask conversations that their agents continue.
func (s *Conversations) Active(ctx context.Context) (map[fika.ConversationID]bool, error) {
	agents, err := s.c.store.ListAgents(ctx)
	out := map[fika.ConversationID]bool{}
	for _, a := range agents {
		out[a.ActiveAsk] = true
	}
	return out, err
}

// Find returns a conversation by name; an agent's name means its active ask.
func (s *Conversations) Find(ctx context.Context, name string) (fika.Conversation, error) {
	conv, err := s.named(ctx, name)
	if err != nil {
		return conv, err
	}
	return conv, s.c.mayConversation(ctx, "conversation.show", conv.ID)
}

func (s *Conversations) named(ctx context.Context, name string) (fika.Conversation, error) {
	n, err := fika.ParseConversationName(name)
	if err != nil {
		return fika.Conversation{}, err
	}
	conv, err := s.c.store.Conversation(ctx, n)
	if !fika.IsKind(err, fika.NotFound) {
		return conv, err
	}
	agent, nameErr := fika.ParseAgentName(name)
	if nameErr != nil {
		return conv, err
	}
	row, rowErr := s.c.store.Agent(ctx, agent)
	if rowErr != nil {
		return conv, fika.WithHint(fika.Errorf(fika.NotFound, "", "conversation or agent %q not found", name), hint.ConversationList)
	}
	return s.c.store.ActiveAsk(ctx, row.ID)
}

// Entries returns entries of a conversation. It returns Denied if an agent asks through
// a command in one of its tools and may not see the conversation.
func (s *Conversations) Entries(ctx context.Context, q EntryQuery) ([]fika.Entry, error) {
	if err := s.c.mayConversation(ctx, "conversation.entries", q.Conversation); err != nil {
		return nil, err
	}
	return s.c.store.Entries(ctx, q)
}

// Search returns the entries that contain the words and that the caller may see, newest
// first.
func (s *Conversations) Search(ctx context.Context, words string, f ConversationFilter) ([]Found, error) {
	return s.c.sight().search(ctx, words, f)
}
