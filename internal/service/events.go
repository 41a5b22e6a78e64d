package service

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/bus"
	"fika/internal/store"
	"fika/internal/tail"
)

// EventQuery selects events.
type EventQuery struct {
	// Since is a cursor; empty: from now on if Follow is set, else the oldest that is kept.
	Since api.Cursor
	// Scope names conversations and agents by name, and requests by id or its beginning.
	Scope  api.Scope
	Follow bool // go on with what is committed from now on
}

// EventKinds lists the kinds of events.
func EventKinds() []string {
	var out []string
	for _, kind := range store.EventKinds() {
		out = append(out, string(kind))
	}
	return out
}

// Events yields committed events in their order. With q.Follow the stream ends with ctx;
// otherwise with what is there now. A place that is not in the store any more ends it with
// a reset. Error kinds: Denied for a principal that does not see everything; NotFound and
// Invalid for a query that names what does not exist.
func (c *Service) Events(ctx context.Context, q EventQuery) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		if err := c.events(ctx, q, yield); err != nil {
			yield(api.Event{}, err)
		}
	}
}

func (c *Service) events(ctx context.Context, q EventQuery, yield func(api.Event, error) bool) error {
	const op = "read events"
	if c.who.Kind != api.Person && c.who.Kind != api.System {
		return fika.Errorf(fika.Denied, op, "events are of all that happens in this home: only people see them; ask for a chat or a request by name")
	}
	scope, err := c.eventScope(ctx, q.Scope)
	if err != nil {
		return err
	}
	scope.Now = !q.Follow
	from := store.Cursor{}
	switch {
	case q.Since != api.FromNow:
		from, err = store.ParseCursor(string(q.Since))
	case q.Follow:
		from, err = c.store.Confirmed(ctx)
	}
	if err != nil {
		return err
	}
	_, silent := c.bus.(bus.Nobody)
	t := tail.New(c.store.Events, !silent)
	if q.Follow {
		sub, err := c.bus.Subscribe(c.subjects.Events(), func(bus.Msg) { t.Ring() })
		if err != nil {
			return err
		}
		defer sub.Close() //nolint:errcheck // nothing is lost with it
	}
	names := eventNames{c: c, conversations: map[fika.ConversationID]string{}, agents: map[fika.AgentID]string{}}
	for e, err := range t.Watch(ctx, scope, from) {
		if err != nil {
			return err
		}
		out, err := names.event(ctx, e)
		if err != nil {
			return err
		}
		if !yield(out, nil) {
			return nil
		}
	}
	return nil
}

// eventScope turns names into ids.
func (c *Service) eventScope(ctx context.Context, s api.Scope) (out tail.Scope, err error) {
	const op = "read events"
	out = tail.Scope{Tree: s.Tree, Content: s.Content, Until: s.Until}
	for _, name := range s.Conversations {
		conv, err := c.store.Conversation(ctx, fika.ConversationName(name))
		if err != nil {
			return out, err
		}
		out.Conversations = append(out.Conversations, conv.ID)
	}
	for _, name := range s.Agents {
		a, err := c.store.Agent(ctx, fika.AgentName(name))
		if err != nil {
			return out, err
		}
		out.Agents = append(out.Agents, a.ID)
	}
	for _, id := range s.Requests {
		r, err := c.store.Request(ctx, fika.RequestID(id))
		if err != nil {
			return out, err
		}
		out.Requests = append(out.Requests, r.ID)
	}
	for _, kind := range s.Kinds {
		if !slices.Contains(store.EventKinds(), store.EventKind(kind)) {
			return out, fika.Errorf(fika.Invalid, op, "%.40q is not a kind of event: want one of %s", kind, strings.Join(EventKinds(), ", "))
		}
		out.Kinds = append(out.Kinds, store.EventKind(kind))
	}
	return out, nil
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
	out.Entry = &api.Entry{
		ID: string(e.Entry.ID), From: e.Entry.From, To: e.Entry.To, Type: string(e.Entry.Type), Content: e.Entry.Content, Cut: e.Cut,
	}
	var d store.EventData
	if e.Data != nil && json.Unmarshal(e.Data, &d) == nil {
		out.Entry.CallID = d.CallID
	}
	out.Entry.Meta, err = json.Marshal(e.Entry.Meta)
	return out, err
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
