package service

import (
	"context"
	"time"

	"fika"
	"fika/internal/chat"
	"fika/internal/store"
)

// droppedFor is how long a queue shows what was dropped.
const droppedFor = 24 * time.Hour

// Queue returns the work in one chat, or in all of them. It needs no hub.
func (s *Chats) Queue(ctx context.Context, in fika.ConversationID) ([]QueueItem, error) {
	now := s.c.now()
	if in != "" {
		if err := s.c.mayConversation(ctx, "conversation.queue", in); err != nil {
			return nil, err
		}
	}
	a, err := s.c.sight().activity(ctx, store.ActivityQuery{Conversation: in, DroppedSince: now.Add(-droppedFor)})
	if err != nil {
		return nil, err
	}
	if in != "" {
		a.Conversations = only(a.Conversations, in)
	}
	agents, err := s.c.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	return chat.QueueItems(a, agents, s.c.Availability.presence, now), nil
}

func only(list []fika.Conversation, id fika.ConversationID) []fika.Conversation {
	for _, c := range list {
		if c.ID == id {
			return []fika.Conversation{c}
		}
	}
	return nil
}

// Retried is a dead turn that is being tried again.
type Retried struct {
	Request   fika.RequestID // the new one
	Of        fika.RequestID
	AgentName fika.AgentName
	Seqs      []int64 // of the messages that it answers
}

// RetryDead makes new requests for the turns of a chat whose notifications are dead,
// oldest first; only for one agent, if one is given. On an error it also returns what
// was retried before.
func (s *Chats) RetryDead(ctx context.Context, conv fika.Conversation, only fika.AgentID) ([]Retried, error) {
	if err := s.c.may("conversation.retry"); err != nil {
		return nil, err
	}
	a, err := s.c.sight().activity(ctx, store.ActivityQuery{Conversation: conv.ID, DroppedSince: time.Unix(1<<33, 0)})
	if err != nil {
		return nil, err
	}
	var dead []Retried
	at := map[fika.RequestID]int{}
	for _, n := range a.Notifications {
		if n.State != fika.NotificationDead || only != "" && n.Agent != only {
			continue
		}
		k, ok := at[n.Request]
		if !ok {
			k = len(dead)
			at[n.Request] = k
			dead = append(dead, Retried{Of: n.Request, AgentName: n.AgentName})
		}
		dead[k].Seqs = append(dead[k].Seqs, n.Seq)
	}
	defer func() { _ = s.c.bus.Flush(ctx) }()
	for k := range dead {
		r, err := s.c.store.Retry(ctx, dead[k].Of)
		if err != nil {
			return dead[:k], err
		}
		dead[k].Request = r.ID
		s.c.waker.Wake(dead[k].AgentName)
	}
	return dead, nil
}
