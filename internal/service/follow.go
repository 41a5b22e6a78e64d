package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus"
	"fika/internal/bus/message"
)

// Follow is a subscription to what agents do. Take it before the request is committed,
// so that nothing is missed.
type Follow struct {
	// Warn, if not nil, is told once why a request may wait for long: its agent has
	// failed, was stopped by hand or by SIGSTOP, or has used up its hour.
	Warn func(api.Status)
	// Waits, if not nil, is told why a request has not begun if it will begin by
	// itself, and when it waits for a person's approval; each reason once.
	Waits func(api.Status)
	// Moved, if not nil, is told once which other agent works the request, and why.
	Moved func(info RequestInfo, text string)

	c        *Service
	subs     []bus.Subscription
	heard    []fika.AgentName    // agents whose statuses it receives
	worker   fika.AgentName      // the worker that Moved was last told of
	statuses chan message.Status // capacity 4096; when full, new statuses are dropped
	since    time.Time           // when the subscription began
	waits    api.Status          // the last that Waits was told
	provider api.Status          // the notice about a provider that Waits was told
	ended    bool                // the agent has reported the end of the turn
}

// Follow subscribes to the statuses and responses of one agent.
func (s *Requests) Follow(agent fika.AgentName) (*Follow, error) {
	f := &Follow{c: s.c, statuses: make(chan message.Status, 4096), since: s.c.now()}
	err := f.listenTo(agent)
	if e := s.c.config().Agent(agent); e != nil {
		for _, name := range e.Members() { // one of them works it
			err = errors.Join(err, f.listenTo(name))
		}
	}
	return f, err
}

// listenTo subscribes to the statuses of an agent, once.
func (f *Follow) listenTo(agent fika.AgentName) error {
	if slices.Contains(f.heard, agent) {
		return nil
	}
	sub, err := f.c.bus.Subscribe(f.c.subjects.Status(agent), func(m bus.Msg) {
		var st message.Status
		if json.Unmarshal(m.Data, &st) != nil {
			return
		}
		select {
		case f.statuses <- st:
		default: // for display only; the outcome is in the store
		}
	})
	if err == nil {
		f.subs, f.heard = append(f.subs, sub), append(f.heard, agent)
	}
	return err
}

// Close ends the subscriptions.
func (f *Follow) Close() error {
	var errs []error
	for _, s := range f.subs {
		errs = append(errs, s.Close())
	}
	f.subs = nil
	return errors.Join(errs...)
}

// followMove subscribes to the agent that now works the request, and reports it if
// another agent was asked.
func (f *Follow) followMove(info RequestInfo) {
	if info.AddressedName == "" || f.worker == info.AgentName {
		return
	}
	f.worker = info.AgentName
	_ = f.listenTo(info.AgentName) // display only
	text := fmt.Sprintf("@%s of @%s works on it", info.AgentName, info.AskedName())
	if info.Handed != "" {
		text = fmt.Sprintf("handed over from @%s to @%s: %s", info.AskedName(), info.AgentName, info.Handed)
	} else if info.Kind == fika.AskRequest {
		return // people learn where their asks go when they ask
	}
	if f.Moved != nil {
		f.Moved(info, text)
	}
}

// Await passes on the statuses of one request until its outcome is in the store, however
// long a database that is a server is away. If ctx ends first, it returns ctx's error.
func (f *Follow) Await(ctx context.Context, id fika.RequestID, show func(message.Status)) (RequestInfo, error) {
	ask := time.NewTicker(pollEvery)
	defer ask.Stop()
	f.ended = false
	away := func() { f.tellWaits(api.Stands(api.StoreAway)) }
	for asked := false; ; {
		info, err := outlasting(ctx, f.c, away, func(ctx context.Context) (RequestInfo, error) { return f.c.store.Request(ctx, id) })
		if ctx.Err() != nil {
			f.explainLast(ctx, id)
			return info, ctx.Err()
		}
		if err == nil && !asked {
			asked = true
			if err := f.c.mayRequest(ctx, "request.wait", info); err != nil {
				return info, err
			}
		}
		if err == nil {
			f.followMove(info)
		}
		if err != nil || info.State.Terminal() {
			if err == nil && !f.ended && info.State != fika.Cancelled && info.FinishedAt.After(f.since) {
				f.catchUp(ctx, id, show)
			}
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

// listen passes statuses on until there is reason to read the store.
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
				f.ended = true
				return nil
			}
		}
	}
}

// catchUp waits a moment for the statuses of a turn whose outcome was first seen in the
// store: they are on their way, unless the agent was killed.
func (f *Follow) catchUp(ctx context.Context, id fika.RequestID, show func(message.Status)) {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_ = f.listen(ctx, id, nil, show) // statuses that have not arrived by then are not shown
}

// drain shows the statuses that had arrived before the outcome was seen.
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
