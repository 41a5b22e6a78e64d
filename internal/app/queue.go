package app

import (
	"context"
	"time"

	"fika"
	"fika/internal/chat"
	"fika/internal/folder"
	"fika/internal/store"
)

// droppedFor is how long a queue remembers what was dropped.
const droppedFor = 24 * time.Hour

// Queue tells what goes on in one chat, or in all of them; it needs no hub.
func (s *Agents) Queue(ctx context.Context, c fika.ConversationID) ([]chat.Item, error) {
	now := s.app.Now()
	a, err := s.Client.Store.Activity(ctx, store.ActivityQuery{Conversation: c, DroppedSince: now.Add(-droppedFor)})
	if err != nil {
		return nil, err
	}
	if c != "" {
		a.Conversations = only(a.Conversations, c)
	}
	agents, err := s.Client.Store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	return chat.Queue(a, agents, s.presence, now), nil
}

func only(list []fika.Conversation, id fika.ConversationID) []fika.Conversation {
	for _, c := range list {
		if c.ID == id {
			return []fika.Conversation{c}
		}
	}
	return nil
}

// presence looks at an agent's lock and at what the config says of it.
func (s *Agents) presence(row fika.Agent) chat.Presence {
	var p chat.Presence
	_, p.Hub = s.home.HubProcess()
	if e := s.config().Agent(row.Name); e != nil {
		p.Wakes = e.Wake || e.AutoStart && e.Persistent && s.config().Master.AutoStartAgents
	}
	if row.Desired == fika.DesiredRunning && s.config().Agent(row.Name) != nil {
		p.Wakes = true
	}
	if now := s.app.Now(); row.Held(now) {
		p.Rests, p.Until = row.HeldReason, row.HeldUntil
	}
	if row.State == fika.AgentFailed {
		p.Failed = row.StateReason
	}
	if p.Rests = rests(row, s.app.Now()); p.Rests != "" {
		p.Until = row.HeldUntil
	}
	id, _ := s.home.ID()
	if row.HomeID != "" && row.HomeID != id {
		// Its folder is another home's: its lease says whether it is there.
		p.Alive = row.Owner != "" && row.LeaseUntil.After(s.app.Now())
		return p
	}
	lock, err := s.home.Folder(row.Name).Inspect()
	if err == nil && lock.Held {
		p.Alive = lock.Info.Kind == folder.LockAgent
		p.InUse = !p.Alive
	}
	return p
}

// Retried is a dead turn that is tried again.
type Retried struct {
	Request   fika.RequestID // the new one
	Of        fika.RequestID
	AgentName fika.AgentName
	Seqs      []int64 // of the messages it answers
}

// RetryDead makes new requests of the turns of a chat whose notifications are
// dead, oldest first; of one agent's only, if one is given. What was tried
// before an error is returned with it.
func (c *Client) RetryDead(ctx context.Context, conv fika.Conversation, only fika.AgentID) ([]Retried, error) {
	a, err := c.Store.Activity(ctx, store.ActivityQuery{Conversation: conv.ID, DroppedSince: time.Unix(1<<33, 0)})
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
	defer func() { _ = c.Bus.Flush(ctx) }()
	for k := range dead {
		r, err := c.Store.Retry(ctx, dead[k].Of)
		if err != nil {
			return dead[:k], err
		}
		dead[k].Request = r.ID
		c.Ring(dead[k].AgentName)
	}
	return dead, nil
}
