package service

import (
	"context"
	"encoding/json"

	"fika"
	"fika/internal/api"
	"fika/internal/report/tail"
	"fika/internal/store"
)

// EventKinds lists the kinds of events.
func EventKinds() []string {
	var out []string
	for _, kind := range store.EventKinds() {
		out = append(out, string(kind))
	}
	return out
}

// eventNames turns the ids of events into names, which it remembers until they change.
// What is deleted has none.
type eventNames struct {
	c             *Service
	conversations map[fika.ConversationID]string
	agents        map[fika.AgentID]string
}

func (n *eventNames) event(ctx context.Context, e store.Event) (api.Event, error) {
	switch e.Kind {
	case store.ConversationEvent:
		delete(n.conversations, e.Conversation)
	case store.AgentEvent:
		n.agents = map[fika.AgentID]string{}
	}
	out := api.Event{
		N: e.N, Cursor: api.Cursor(e.Cursor().String()), At: e.At, Kind: api.EventKind(e.Kind), Request: string(e.Request), Chain: string(e.Chain),
		Seq: e.Seq, State: e.State, Data: e.Data,
	}
	if e.Kind == tail.Mark || e.Kind == tail.Reset {
		out.N = 0 // it is not stored
	}
	var err error
	if out.Conversation, err = n.conversation(ctx, e.Conversation); err != nil {
		return out, err
	}
	if out.Agent, err = n.agent(ctx, e.Agent); err != nil || e.Entry == nil {
		return out, err
	}
	entry := entryText(*e.Entry)
	entry.Cut = e.Cut
	var d store.EventData
	if e.Data != nil && json.Unmarshal(e.Data, &d) == nil {
		entry.CallID = d.CallID
	}
	out.Entry = &entry
	return out, nil
}

// entryText returns an entry without its place.
func entryText(e fika.Entry) api.Entry {
	meta, _ := json.Marshal(e.Meta) // of strings and numbers: it cannot fail
	return api.Entry{
		ID: string(e.ID), From: e.From, To: e.To, Type: string(e.Type), Content: e.Content, ReplyTo: string(e.ReplyTo), Meta: meta,
	}
}

// entryInfo returns an entry at its place.
func entryInfo(e fika.Entry) api.EntryInfo {
	return api.EntryInfo{Seq: e.Seq, Request: string(e.Request), At: e.At, Entry: entryText(e)}
}

func (n *eventNames) conversation(ctx context.Context, id fika.ConversationID) (string, error) {
	if name, known := n.conversations[id]; known || id == "" {
		return name, nil
	}
	c, err := n.c.store.ConversationByID(ctx, id)
	if err != nil && !fika.IsKind(err, fika.NotFound) {
		return "", err
	}
	n.conversations[id] = string(c.Name)
	return string(c.Name), nil
}

func (n *eventNames) agent(ctx context.Context, id fika.AgentID) (string, error) {
	if name, known := n.agents[id]; known || id == "" {
		return name, nil
	}
	list, err := n.c.store.ListAgents(ctx)
	if err != nil {
		return "", err
	}
	n.agents[id] = ""
	for _, a := range list {
		n.agents[a.ID] = string(a.Name)
	}
	return n.agents[id], nil
}
