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
	return chat.QueueItems(a, agents, func(a fika.Agent) chat.Presence { return s.c.Availability.presence(ctx, a) }, now), nil
}

func only(list []fika.Conversation, id fika.ConversationID) []fika.Conversation {
	for _, c := range list {
		if c.ID == id {
			return []fika.Conversation{c}
		}
	}
	return nil
}

// Inputs returns the texts that wait for turns of a chat, oldest first.
func (s *Chats) Inputs(ctx context.Context, conv fika.Conversation) ([]Input, error) {
	if err := s.c.mayConversation(ctx, "conversation.queue", conv.ID); err != nil {
		return nil, err
	}
	return s.c.store.QueuedInputs(ctx, conv.ID)
}

// Withdraw takes a text back that waits for a turn, and returns it as it then stands: one
// that was delivered before stays so. It returns NotFound.
func (s *Chats) Withdraw(ctx context.Context, id fika.EntryID) (Input, error) {
	in, err := s.c.store.Input(ctx, id)
	if err == nil {
		err = s.c.mayConversation(ctx, "conversation.withdraw", in.Conversation)
	}
	if err != nil {
		return Input{}, err
	}
	in, err = s.c.store.WithdrawInput(ctx, id)
	_ = s.c.bus.Flush(ctx)
	return in, err
}

// Retried is a dead turn that is being tried again, or one that waited for its model's
// provider and goes on at once.
type Retried struct {
	Request   fika.RequestID // the new one; of a turn that waited, Of itself
	Of        fika.RequestID
	AgentName fika.AgentName
	Seqs      []int64 // of the messages that it answers
}

// Retry lets the turns of a chat that wait for their models' providers go on at once, and
// retries the dead ones, as [Chats.RetryDead] does; only for one agent, if one is given.
func (s *Chats) Retry(ctx context.Context, conv fika.Conversation, only fika.AgentID) ([]Retried, error) {
	if err := s.c.may("conversation.retry"); err != nil {
		return nil, err
	}
	woken, err := s.retryWaiting(ctx, conv, only)
	if err != nil {
		return woken, err
	}
	dead, err := s.RetryDead(ctx, conv, only)
	return append(woken, dead...), err
}

// retryWaiting lets the requests of a chat that wait for a provider go on at once.
func (s *Chats) retryWaiting(ctx context.Context, conv fika.Conversation, only fika.AgentID) ([]Retried, error) {
	a, err := s.c.sight().activity(ctx, store.ActivityQuery{Conversation: conv.ID, DroppedSince: time.Unix(1<<33, 0)})
	if err != nil {
		return nil, err
	}
	var out []Retried
	for _, r := range a.Requests {
		if r.Conversation != conv.ID || only != "" && r.Agent != only || fika.WaitReason(r.Reason) != fika.WaitProvider {
			continue
		}
		woken, err := s.c.store.RetryNow(ctx, r.ID)
		if err != nil {
			return out, err
		}
		if woken {
			s.c.waker.Wake(r.AgentName)
			out = append(out, Retried{Request: r.ID, Of: r.ID, AgentName: r.AgentName})
		}
	}
	_ = s.c.bus.Flush(ctx)
	return out, nil
}

// RetryDead makes new requests for the turns of a chat whose notifications are dead,
// oldest first; only for one agent, if one is given. On an error nothing is retried.
func (s *Chats) RetryDead(ctx context.Context, conv fika.Conversation, only fika.AgentID) ([]Retried, error) {
	if err := s.c.may("conversation.retry"); err != nil {
		return nil, err
	}
	return once(ctx, s.c, "conversation.retry", []any{conv.ID, only},
		func(to *store.Store) ([]Retried, error) { return s.retryDead(ctx, to, conv, only) },
		func(done *store.Repeated) ([]Retried, error) { return s.retriedBefore(ctx, done) })
}

func (s *Chats) retryDead(ctx context.Context, to *store.Store, conv fika.Conversation, only fika.AgentID) ([]Retried, error) {
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
	if len(dead) == 0 {
		return nil, nil
	}
	var of []fika.RequestID
	for _, d := range dead {
		of = append(of, d.Of)
	}
	again, err := to.RetryAll(ctx, of...)
	for k, r := range again {
		dead[k].Request = r.ID
		s.c.waker.Wake(dead[k].AgentName)
	}
	_ = s.c.bus.Flush(ctx)
	return dead[:len(again)], err
}

// retriedBefore returns what an earlier call of [Chats.RetryDead] has retried.
func (s *Chats) retriedBefore(ctx context.Context, done *store.Repeated) (out []Retried, err error) {
	for _, r := range done.All(store.RequestEvent) {
		info, err := s.c.store.Request(ctx, r.Request)
		if err != nil {
			return out, err
		}
		one := Retried{Request: info.ID, Of: info.RetryOf, AgentName: info.AgentName}
		for _, e := range done.All(store.EntryEvent) {
			if e.Request == one.Request {
				one.Seqs = append(one.Seqs, e.Seq)
			}
		}
		out = append(out, one)
	}
	return out, nil
}
