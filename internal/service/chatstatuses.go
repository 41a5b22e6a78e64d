package service

import (
	"context"
	"encoding/json"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/message"
	"fika/internal/store"
)

// Statuses passes the statuses that agents publish about their turns in a chat to show,
// until the returned function is called. show is called in order, one at a time. What
// show misses is in the store.
func (s *Chats) Statuses(conv fika.Conversation, show func(message.Status)) (func(), error) {
	if err := s.c.mayConversation(context.Background(), "conversation.live", conv.ID); err != nil {
		return nil, err
	}
	sub, err := s.c.bus.Subscribe(s.c.subjects.Status("*"), func(m bus.Msg) {
		var st message.Status
		if json.Unmarshal(m.Data, &st) == nil && st.ConversationID == string(conv.Name) {
			show(st)
		}
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Close() }, nil
}

// Running returns the agents that work on requests of a chat, by request id.
func (s *Chats) Running(ctx context.Context, conv fika.Conversation) (map[string]string, error) {
	list, err := s.c.sight().requests(ctx, store.RequestFilter{Conversation: conv.ID, States: []fika.RequestState{fika.Running}})
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(list))
	for _, r := range list {
		names[string(r.ID)] = string(r.AgentName)
	}
	return names, nil
}

// EndedSince returns the requests of a chat that have ended since a time, or all of
// them for the zero time.
func (s *Chats) EndedSince(ctx context.Context, conv fika.Conversation, since time.Time) ([]RequestInfo, error) {
	return s.c.sight().requests(ctx, store.RequestFilter{Conversation: conv.ID, Since: since, States: []fika.RequestState{
		fika.Done, fika.RequestFailed, fika.Cancelled, fika.StateInterrupted, fika.Dead,
	}})
}
