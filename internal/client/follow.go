package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/message"
	"fika/internal/store"
)

// Follow is a subscription to what agents do. Take it before the request is
// committed, so that nothing is missed.
type Follow struct {
	// Warn, if not nil, is told once why a request may wait for long: its
	// agent failed, was stopped by hand or by SIGSTOP, or has used up its hour.
	Warn func(string)
	// Waits, if not nil, is told what a request waits for that has not begun but will
	// by itself, and that it waits for a person's word; each reason once.
	Waits func(string)
	// Moved, if not nil, is told once who works a request that another agent was asked
	// for, and why.
	Moved func(info RequestInfo, text string)

	c        *Client
	subs     []bus.Subscription
	heard    []fika.AgentName    // whose statuses it hears
	worker   fika.AgentName      // that Moved was told of last
	statuses chan message.Status // capacity 4096; when full, the oldest are not waited for
	since    time.Time           // of the subscription
	waits    string              // what Waits was told last
	ended    bool                // the agent has told that the turn has ended
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
		default: // display only; the outcome is in the store
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

// followMove hears whoever works the request now, and tells when that is not who was
// asked.
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
		return // whom the asks of a person go to is told when they ask
	}
	if f.Moved != nil {
		f.Moved(info, text)
	}
}

// Await passes on the statuses of one request until its outcome is in the
// store. When ctx ends first the error is ctx's.
func (f *Follow) Await(ctx context.Context, id fika.RequestID, show func(message.Status)) (RequestInfo, error) {
	ask := time.NewTicker(pollEvery)
	defer ask.Stop()
	f.ended = false
	for {
		info, err := f.c.store.Request(ctx, id)
		if ctx.Err() != nil {
			f.explainLast(ctx, id)
			return info, ctx.Err()
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

// explainLast looks once more when the person has stopped waiting, however short
// that was: who gives up is told why it was in vain.
func (f *Follow) explainLast(ctx context.Context, id fika.RequestID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if info, err := f.c.store.Request(ctx, id); err == nil {
		f.explain(ctx, info)
	}
}

// explain tells, once, that the agent of a waiting request will not come by
// itself.
func (f *Follow) explain(ctx context.Context, info RequestInfo) {
	if f.Warn == nil || info.State.Terminal() {
		return
	}
	if why := f.c.Agents.whyStuck(info.AgentName); why != "" {
		f.Warn(fmt.Sprintf("%s (fika request cancel %s gives it up)", why, info.ID))
		f.Warn = nil
		return
	}
	if info.State == fika.Running {
		f.waits = ""
		if why := f.c.Agents.whyAbandoned(ctx, info.AgentName); why != "" {
			f.Warn(why)
			f.Warn = nil
		}
		return
	}
	if info.State != fika.Open && info.State != fika.Waiting {
		return
	}
	if fika.WaitReason(info.Reason) == fika.WaitApproval {
		f.tellApproval(info)
		return
	}
	row, err := f.c.store.Agent(ctx, info.AgentName)
	if err != nil {
		return
	}
	if store.MayHandOver(info.Request) && f.tellBackup(ctx, row, info) {
		return
	}
	hint := app.QuotaHint(row, f.c.now())
	if hint == "" && info.State == fika.Open {
		hint = f.c.Agents.NeverAnswers(ctx, row)
	}
	if hint == "" && fika.WaitReason(info.Reason) == fika.WaitLimit {
		hint = f.c.whyLimited(ctx, info)
	}
	if hint == "" && info.State == fika.Open {
		f.explainNext(ctx, info)
	}
	if hint != "" {
		f.Warn(fmt.Sprintf("%s; the request waits (fika request cancel %s gives it up)", hint, info.ID))
		f.Warn = nil
	}
}

// handOverTime is how long the hub may take to hand over what waits for a budget, if
// a backup has one.
const handOverTime = 5 * time.Second

// tellBackup tells that a backup is about to take over from an agent, and reports
// whether one is.
func (f *Follow) tellBackup(ctx context.Context, row fika.Agent, info RequestInfo) bool {
	backup, why := f.c.Agents.backupOf(ctx, row)
	if limited := fika.WaitReason(info.Reason) == fika.WaitLimit && f.c.now().Sub(info.Touched) < handOverTime; backup == "" && limited {
		backup, why = f.c.Agents.ableBackup(ctx, row), "a budget of @"+string(row.Name)+" has no room for it"
	}
	if backup == "" {
		return false
	}
	if text := fmt.Sprintf("%s; @%s takes it over", why, backup); f.Waits != nil && f.waits != text {
		f.waits = text
		f.Waits(text)
	}
	return true
}

// tellApproval tells that a person's word is waited for, until the request goes on.
func (f *Follow) tellApproval(info RequestInfo) {
	switch {
	case f.Waits == nil:
		f.Warn(fmt.Sprintf("@%s %s", info.AgentName, asksBeforeCall))
		f.Warn = nil
	case f.waits != asksBeforeCall:
		f.waits = asksBeforeCall
		f.Waits(asksBeforeCall)
	}
}

// whyLimited is what was said where a request waits for a budget; empty: it waits
// for a moment only, or for an agent's hour.
func (c *Client) whyLimited(ctx context.Context, info RequestInfo) string {
	said, err := c.store.Entries(ctx, store.EntryQuery{Conversation: info.Conversation, Types: []fika.EntryType{fika.Notice}, Last: 1})
	if err != nil || len(said) == 0 {
		return ""
	}
	return said[0].Content
}

// explainNext tells that the agent of a request works on another one first.
func (f *Follow) explainNext(ctx context.Context, info RequestInfo) {
	waited := f.c.now().Sub(info.CreatedAt)
	if f.Waits == nil || waited < pollEvery {
		return
	}
	if pool := f.c.config().Agent(info.AgentName); pool != nil && pool.Instances > 0 {
		if why := fmt.Sprintf("it waits for a free member of @%s", info.AgentName); waited > time.Second && why != f.waits {
			f.waits = why
			f.Waits(why)
		}
		return
	}
	running, err := f.c.store.ListRequests(ctx, store.RequestFilter{Agent: info.Agent, States: []fika.RequestState{fika.Running}})
	why := fmt.Sprintf("@%s has not begun yet: its process is being started", info.AgentName)
	switch {
	case err != nil:
		return
	case len(running) > 0:
		why = fmt.Sprintf("@%s works on %s first (%s); yours is next", info.AgentName, requestKind(running[0].Kind), running[0].ConversationName)
	case waited < time.Second || f.c.Agents.alive(info.AgentName):
		return // it comes to it in a moment
	}
	if why != f.waits {
		f.waits = why
		f.Waits(why)
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
				f.ended = true
				return nil
			}
		}
	}
}

// catchUp waits a moment for what the agent told of a turn whose outcome the
// store showed first: it is on its way, unless the agent was killed.
func (f *Follow) catchUp(ctx context.Context, id fika.RequestID, show func(message.Status)) {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_ = f.listen(ctx, id, nil, show) // whatever has not come by then is not shown
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
