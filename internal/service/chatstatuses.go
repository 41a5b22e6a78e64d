package service

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
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

// UnderWay returns the turns of a chat that have begun and not ended: those at work, and
// those that wait, such as for an approval.
func (s *Chats) UnderWay(ctx context.Context, conv fika.Conversation) ([]RequestInfo, error) {
	list, err := s.c.sight().requests(ctx, store.RequestFilter{Conversation: conv.ID, States: []fika.RequestState{fika.Running, fika.Waiting}})
	return slices.DeleteFunc(list, func(r RequestInfo) bool { return r.Kind == fika.WorkflowRequest }), err
}

// SoFar returns what the turns at work in a chat have said of the answers that they are
// writing, as statuses that [Chats.Statuses] may have passed on before. It leaves out those
// whose agent does not say.
func (s *Chats) SoFar(ctx context.Context, conv fika.Conversation) ([]message.Status, error) {
	list, err := s.c.sight().requests(ctx, store.RequestFilter{Conversation: conv.ID, States: []fika.RequestState{fika.Running}})
	if err != nil {
		return nil, err
	}
	var out []message.Status
	for _, r := range list {
		if now, ok := s.c.streamed(ctx, r); ok {
			out = append(out, message.Status{
				RequestID: string(r.ID), AgentName: string(r.AgentName), Status: "streaming", ConversationID: string(conv.Name),
				Data: message.StatusData{Chunk: now.Text, Step: now.Round, Round: now.Round, Offset: now.Offset, Epoch: now.Epoch},
			})
		}
	}
	return out, nil
}

// EndedSince returns the requests of a chat that have ended since a time, or all of
// them for the zero time.
func (s *Chats) EndedSince(ctx context.Context, conv fika.Conversation, since time.Time) ([]RequestInfo, error) {
	return s.c.sight().requests(ctx, store.RequestFilter{Conversation: conv.ID, Since: since, States: fika.EndedStates()})
}
