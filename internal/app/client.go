package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/chat"
	"fika/internal/folder"
	"fika/internal/message"
	"fika/internal/store"
)

// Client is a person's side: it commits wishes to the store, rings, and
// follows what comes of them. Without a hub everything works, only slower: the
// store is asked instead of the bus being heard.
type Client struct {
	Store    *store.Store
	Bus      bus.Bus
	Subjects bus.Subjects
	Ringer
	// Trouble says why there is no bus although a hub runs: it does not
	// answer. Everything works all the same, only slower. Empty: there is none.
	Trouble string

	now  func() time.Time
	home folder.Home
}

// poll is how often a client asks the store while it waits for an outcome: the
// bus makes it quick, this makes it certain.
const poll = 500 * time.Millisecond

// Client opens the store and, if a hub runs, the bus.
func (a *App) Client(ctx context.Context) (*Client, error) {
	s, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	subjects, err := a.Subjects()
	if err != nil {
		return nil, err
	}
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	config, err := a.Config()
	if err != nil {
		return nil, err
	}
	c := &Client{Store: s, Bus: bus.Nobody{}, Subjects: subjects, now: a.Now, home: h}
	if p, up := h.HubProcess(); up {
		c.Bus, c.Trouble = a.connectClient(ctx, config, h, p)
	}
	c.Ringer = Ringer{Bus: c.Bus, Subjects: subjects}
	return c, nil
}

// Chats posts what a person says.
func (c *Client) Chats() *chat.Chats { return chat.New(c.Store, c.Ringer) }

// FindAgent finds an agent by what a person typed; NotFound comes with the
// nearest name.
func (c *Client) FindAgent(ctx context.Context, name string) (fika.Agent, error) {
	return FindAgent(ctx, c.Store, name)
}

// Submit commits a request and rings its agent.
func (c *Client) Submit(ctx context.Context, r store.NewRequest, agent fika.AgentName) (store.Accepted, error) {
	accepted, err := c.Store.Accept(ctx, r)
	if err != nil {
		return accepted, err
	}
	c.Ring(agent)
	_ = c.Bus.Flush(ctx)
	return accepted, nil
}

// Follow is a subscription to what agents do. Take it before the request is
// committed, so that nothing is missed.
type Follow struct {
	// Warn, if not nil, is told once why a request may wait for long: its
	// agent failed, was stopped by hand or by SIGSTOP, or has used up its hour.
	Warn func(string)
	// NeverAnswers says why an agent will not come to the request by itself;
	// "" when it will. See [Agents.NeverAnswers].
	NeverAnswers func(context.Context, fika.Agent) string

	client   *Client
	sub      bus.Subscription
	statuses chan message.Status // capacity 4096; when full, the oldest are not waited for
}

// Follow subscribes to the statuses and responses of one agent.
func (c *Client) Follow(agent fika.AgentName) (*Follow, error) {
	f := &Follow{client: c, statuses: make(chan message.Status, 4096)}
	var err error
	f.sub, err = c.Bus.Subscribe(c.Subjects.Status(agent), func(m bus.Msg) {
		var s message.Status
		if json.Unmarshal(m.Data, &s) != nil {
			return
		}
		select {
		case f.statuses <- s:
		default: // display only; the outcome is in the store
		}
	})
	return f, err
}

// Close ends the subscription.
func (f *Follow) Close() error { return f.sub.Close() }

// Await passes on the statuses of one request until its outcome is in the
// store. When ctx ends first the error is ctx's.
func (f *Follow) Await(ctx context.Context, id fika.RequestID, show func(message.Status)) (store.RequestInfo, error) {
	ask := time.NewTicker(poll)
	defer ask.Stop()
	for {
		info, err := f.client.Store.Request(ctx, id)
		if ctx.Err() != nil {
			f.explainLast(ctx, id)
			return info, ctx.Err()
		}
		if err != nil || info.State.Terminal() {
			f.drain(id, show)
			return info, err
		}
		f.explain(ctx, info)
		if err := f.listen(ctx, id, ask.C, show); err != nil {
			f.explainLast(ctx, id)
			return info, err
		}
	}
}

// explainLast looks once more when the person has stopped waiting, however short
// that was: who gives up is told why it was in vain.
func (f *Follow) explainLast(ctx context.Context, id fika.RequestID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if info, err := f.client.Store.Request(ctx, id); err == nil {
		f.explain(ctx, info)
	}
}

// explain tells, once, that the agent of a waiting request will not come by
// itself.
func (f *Follow) explain(ctx context.Context, info store.RequestInfo) {
	if f.Warn == nil || info.State.Terminal() {
		return
	}
	if why := f.client.Stuck(info.AgentName); why != "" {
		f.Warn(fmt.Sprintf("%s (fika request cancel %s gives it up)", why, info.ID))
		f.Warn = nil
		return
	}
	if info.State != fika.Open && info.State != fika.Waiting {
		return
	}
	row, err := f.client.Store.Agent(ctx, info.AgentName)
	if err != nil {
		return
	}
	hint := HeldHint(row, f.client.now())
	if hint == "" && info.State == fika.Open && f.NeverAnswers != nil {
		hint = f.NeverAnswers(ctx, row)
	}
	if hint != "" {
		f.Warn(fmt.Sprintf("%s; the request waits (fika request cancel %s gives it up)", hint, info.ID))
		f.Warn = nil
	}
}

// listen passes statuses on until there is reason to look at the store.
func (f *Follow) listen(ctx context.Context, id fika.RequestID, ask <-chan time.Time, show func(message.Status)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ask:
			return nil
		case s := <-f.statuses:
			if s.RequestID != string(id) {
				continue
			}
			show(s)
			if s.Status == "completed" || s.Status == "error" {
				return nil
			}
		}
	}
}

// drain shows what had arrived before the outcome was seen.
func (f *Follow) drain(id fika.RequestID, show func(message.Status)) {
	for {
		select {
		case s := <-f.statuses:
			if s.RequestID == string(id) {
				show(s)
			}
		default:
			return
		}
	}
}

// Cancel asks for a request to end: a committed wish first, a ring second.
func (c *Client) Cancel(ctx context.Context, id fika.RequestID, reason string) (fika.Request, error) {
	r, err := c.Store.Cancel(ctx, id, reason)
	if err != nil {
		return r, err
	}
	c.RingStopped(ctx, id)
	_ = c.Bus.Flush(ctx)
	return r, nil
}

// RingStopped rings the agents of a request that was cancelled, of those that
// it had delegated and that run, and of the one that waits for it.
func (c *Client) RingStopped(ctx context.Context, id fika.RequestID) {
	f, err := c.Family(ctx, id)
	if err != nil {
		return // they look by themselves
	}
	c.Ring(f.AgentName)
	if f.Parent != nil && !f.Parent.State.Terminal() {
		c.Ring(f.Parent.AgentName)
	}
	f.walk(func(k Family) {
		if !k.State.Terminal() {
			c.Ring(k.AgentName)
		}
	})
}
