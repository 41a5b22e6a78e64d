package service

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus"
	"fika/internal/report/tail"
	"fika/internal/store"
)

// tokenLook is how long a stream that shows nothing may stay open when its token has been
// revoked, and for how long live text may come that was on its way.
const tokenLook = time.Second / 2

// Watch yields a mark with the place where it begins, the events behind a cursor, in order
// and each once, and then those that are committed; with scope.Deltas the live text of requests between them. What the principal
// may not see is left out, from the moment at which it may not. A place that is not in the
// store any more ends the stream with a reset; otherwise it ends with ctx, without an
// error, and with scope.Until. Error kinds: Denied, NotFound and Invalid for a scope that
// names what may not be seen or does not exist, Denied for nobody.
func (c *Service) Watch(ctx context.Context, scope api.Scope, from api.Cursor) iter.Seq2[api.Event, error] {
	return c.stream(ctx, scope, from, false)
}

// Events yields what [Service.Watch] does, but ends with what is there now. Without a
// cursor it begins with the oldest event that is kept.
func (c *Service) Events(ctx context.Context, scope api.Scope, from api.Cursor) iter.Seq2[api.Event, error] {
	if from == api.FromNow {
		from = api.FromOldest
	}
	return c.stream(ctx, scope, from, true)
}

func (c *Service) stream(ctx context.Context, scope api.Scope, from api.Cursor, now bool) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		if err := c.watch(ctx, scope, from, now, yield); err != nil {
			yield(api.Event{}, err)
		}
	}
}

func (c *Service) watch(ctx context.Context, wanted api.Scope, since api.Cursor, now bool, yield func(api.Event, error) bool) error {
	if err := c.may("home.events"); err != nil {
		return err
	}
	scope, wanted, err := c.eventScope(ctx, wanted)
	if err != nil {
		return err
	}
	from, err := c.place(ctx, since)
	if err != nil {
		return err
	}
	sees := &eventSight{c: c, all: c.sight().full()}
	live := &liveText{c: c, scope: wanted, sees: sees, some: make(chan struct{}, 1)}
	scope.Now, scope.Begin = now, !now
	if !sees.all {
		scope.May = sees.event
	}
	scope.Passing = func(e store.Event) {
		sees.note(e)
		live.note(e)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !now {
		unhear, err := c.hearEvents()
		if err != nil {
			return err
		}
		defer unhear()
	}
	if wanted.Deltas {
		unhear, err := live.begin(ctx)
		if err != nil {
			return err
		}
		defer unhear()
	}
	type row struct {
		event store.Event
		err   error
	}
	rows := make(chan row)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	reader.Go(func() {
		defer close(rows)
		for e, err := range c.tail.Watch(ctx, scope, from) {
			select {
			case rows <- row{e, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	names := eventNames{c: c, conversations: map[fika.ConversationID]string{}, agents: map[fika.AgentID]string{}}
	look, stop := c.lookAtToken()
	defer stop()
	for {
		select {
		case <-look:
			if err := c.mayGoOn(ctx); err != nil {
				return err
			}
		case <-live.some:
			if goesOn, err := live.give(ctx, yield); err != nil || !goesOn {
				return err
			}
		case r, more := <-rows:
			if !more {
				return nil
			}
			if r.err != nil {
				return r.err
			}
			if goesOn, err := live.give(ctx, yield); err != nil || !goesOn { // it came first
				return err
			}
			if err := c.mayGoOn(ctx); err != nil {
				return err
			}
			e, err := names.event(ctx, r.event)
			if err != nil || !yield(e, nil) {
				return err
			}
			live.committed(r.event)
		}
	}
}

// lookAtToken returns a channel that says when to look whether the token of the principal
// still counts, and a function that ends that. Who has shown none is not looked at.
func (c *Service) lookAtToken() (<-chan time.Time, func()) {
	if c.who.Token == "" {
		return nil, func() {}
	}
	t := time.NewTicker(tokenLook)
	return t.C, t.Stop
}

// place returns the place that a cursor names.
func (c *Service) place(ctx context.Context, since api.Cursor) (store.Cursor, error) {
	if since == api.FromNow {
		return c.store.Confirmed(ctx)
	}
	return store.ParseCursor(string(since))
}

// hearEvents has the process told of what others commit, until the returned function is
// called.
func (c *Service) hearEvents() (func(), error) {
	if _, silent := c.bus.(bus.Nobody); silent {
		return func() {}, nil
	}
	sub, err := c.bus.Subscribe(c.subjects.Events(), func(bus.Msg) { c.tail.Ring() })
	if err != nil {
		return nil, err
	}
	gone := c.tail.HasBell()
	return func() {
		gone()
		_ = sub.Close() // nothing is lost with it
	}, nil
}

// eventScope turns names into ids, and returns the scope with the names as they are kept
// and whole ids of requests. It refuses (Denied) a conversation or a request that the
// principal may not see.
func (c *Service) eventScope(ctx context.Context, s api.Scope) (out tail.Scope, named api.Scope, err error) {
	named = s
	named.Conversations, named.Agents, named.Requests = nil, nil, nil
	out = tail.Scope{Tree: s.Tree, Content: s.Content, Until: s.Until}
	for _, name := range s.Conversations {
		conv, err := c.store.Conversation(ctx, fika.ConversationName(name))
		if err == nil {
			err = c.mayConversation(ctx, "conversation.live", conv.ID)
		}
		if err != nil {
			return out, named, err
		}
		out.Conversations, named.Conversations = append(out.Conversations, conv.ID), append(named.Conversations, string(conv.Name))
	}
	for _, name := range s.Agents {
		a, err := c.Agents.Find(ctx, name) // one that nobody has asked yet has no row
		if err != nil {
			return out, named, err
		}
		out.Agents, named.Agents = append(out.Agents, a.ID), append(named.Agents, string(a.Name))
	}
	for _, id := range s.Requests {
		r, err := c.store.Request(ctx, fika.RequestID(id))
		if err == nil {
			err = c.mayRequest(ctx, "request.wait", r)
		}
		if err != nil {
			return out, named, err
		}
		out.Requests, named.Requests = append(out.Requests, r.ID), append(named.Requests, string(r.ID))
		if r.State.Terminal() {
			out.Ended = append(out.Ended, r.ID)
		}
	}
	for _, kind := range s.Kinds {
		if !slices.Contains(store.EventKinds(), store.EventKind(kind)) {
			return out, named, fika.Errorf(fika.Invalid, "read events", "%.40q is not a kind of event: want one of %s", kind, strings.Join(EventKinds(), ", "))
		}
		out.Kinds = append(out.Kinds, store.EventKind(kind))
	}
	return out, named, nil
}
