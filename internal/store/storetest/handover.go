package storetest

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

var handOverTests = map[string]func(*world){
	"a backup works what nobody has begun, once, under the name that was asked": func(w *world) {
		dead, l := w.agent("coder"), w.lease("reviewer")
		n := store.NewRequest{ID: "wire-1", Kind: fika.TaskRequest, Agent: dead.ID, Payload: fika.Payload{Prompt: "go"}}
		asked := must(w.Accept(w.ctx, n))(w)
		h := store.HandOver{Request: "wire-1", From: dead.ID, To: l.Agent, Why: "it failed"}
		done := must(w.HandOver(w.ctx, h))(w)
		equal(w, "done", fmt.Sprintf("%v %s %s %s", done.Done, done.AgentName, done.AskedName(), done.Handed), "true reviewer coder it failed")
		equal(w, "said", done.Notice.Content, "handed over from @coder to @reviewer: it failed")
		equal(w, "again", must(w.HandOver(w.ctx, h))(w).Done, false)
		again := must(w.Accept(w.ctx, n))(w)
		equal(w, "delivered again", fmt.Sprint(again.Repeat, again.Request.ID == asked.Request.ID), "true true")
		n.Agent = l.Agent
		_, err := w.Accept(w.ctx, n)
		w.refused(err, fika.Conflict)
		w.nothing(w.lease("coder"))
		c := w.claim(l)
		equal(w, "claimed", fmt.Sprintf("%s %v %v", c.Request.ID, c.Conversation.Agent == l.Agent, c.Request.Asked() == dead.ID), "wire-1 true true")
		w.answer(c, "done")
		w.state("wire-1", fika.Done)
		w.whole(c.Conversation.ID)
		list := must(w.ListRequests(w.ctx, store.RequestFilter{Addressed: dead.ID}))(w)
		equal(w, "found by who was asked", len(list), 1)
		equal(w, "the worker's to announce", len(must(w.Unannounced(w.ctx, l.Agent, 0))(w)), 0)
		equal(w, "to announce", must(w.Unannounced(w.ctx, "", 0))(w)[0].AskedName(), "coder")
	},
	"an ask goes to what people say to the backup": func(w *world) {
		dead, l := w.agent("coder"), w.lease("reviewer")
		before := must(w.ActiveAsk(w.ctx, l.Agent))(w)
		asked := w.accept(fika.AskRequest, dead.ID, "why?")
		done := must(w.HandOver(w.ctx, store.HandOver{Request: asked.Request.ID, From: dead.ID, To: l.Agent, Why: "it failed"}))(w)
		equal(w, "where", done.Conversation, before.ID)
		c := w.claim(l)
		equal(w, "prompt", c.Prompt.Content, "why?")
		w.answer(c, "because")
		equal(w, "entries there", len(w.entries(before.ID)), 3)
		equal(w, "entries where it was asked", len(w.entries(asked.Conversation.ID)), 0)
	},
	"what has begun, ended or waits for the backup stays": func(w *world) {
		l, other := w.lease("coder"), w.lease("reviewer")
		move := func(id fika.RequestID, from, to fika.AgentID) bool {
			return must(w.HandOver(w.ctx, store.HandOver{Request: id, From: from, To: to, Why: "test"}))(w).Done
		}
		w.accept(fika.TaskRequest, l.Agent, "begun")
		c := w.claim(l)
		equal(w, "begun", move(c.Request.ID, l.Agent, other.Agent), false)
		child := must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: w.plan(c, 1, fika.Unsafe)[0].N, Agent: other.Agent, Prompt: "do", Deadline: time.Hour}}))(w)
		equal(w, "to who waits for it", move(child.Children[0].ID, other.Agent, l.Agent), false)
		third := w.agent("third")
		equal(w, "to somebody else", move(child.Children[0].ID, other.Agent, third.ID), true)
		equal(w, "to nobody", move(child.Children[0].ID, third.ID, "nobody"), false)
		must(w.Cancel(w.ctx, child.Children[0].ID, "enough"))(w)
		equal(w, "ended", move(child.Children[0].ID, third.ID, other.Agent), false)
		again := must(w.Retry(w.ctx, child.Children[0].ID))(w)
		equal(w, "a retry", fmt.Sprint(again.Agent == third.ID, again.Addressed == other.Agent), "true true")
	},
	"a request that came to nothing is begun anew by a backup, once": func(w *world) {
		l, other := w.lease("coder"), w.lease("reviewer")
		for _, kind := range []fika.RequestKind{fika.AskRequest, fika.TaskRequest} {
			w.accept(kind, l.Agent, "go")
			c := w.claim(l)
			h := store.HandOver{Request: c.Request.ID, From: l.Agent, To: other.Agent, Why: "its provider fails"}
			must(w.Spend(w.ctx, c.Fence, store.Spent{Round: 1, Kind: fika.FailedStep, Model: "m", Why: "bad key", Usage: fika.Usage{Input: 7}}))(w)
			equal(w, "while it runs", must(w.HandOver(w.ctx, h))(w).Done, false)
			w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitBackup, w.clock.Now().Add(time.Minute)))
			done := must(w.HandOver(w.ctx, h))(w)
			equal(w, "done", fmt.Sprintf("%v %s %s %s", done.Done, done.State, done.AgentName, done.Handed), "true open reviewer its provider fails: bad key")
			equal(w, "again", must(w.HandOver(w.ctx, h))(w).Done, false)
			_, err := w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done})
			w.refused(err, fika.Lost)
			w.clock.Advance(2 * time.Minute)
			w.nothing(l)
			moved := w.claim(other)
			equal(w, "begun anew", fmt.Sprintf("%v %v %s %v", moved.Request.ID == c.Request.ID, moved.Resumed, moved.Prompt.Content, moved.Conversation.Agent == other.Agent), "true false go true")
			w.answer(moved, "done")
			equal(w, "answered", w.state(c.Request.ID, fika.Done).Outcome.Usage.Input, 7)
			w.whole(moved.Conversation.ID)
			chain := must(w.Chain(w.ctx, c.Request.Chain))(w)
			equal(w, "in its chain", fmt.Sprint(chain.Turns, chain.Tokens), "1 7")
		}
	},
	"what a model has answered stays": func(w *world) {
		l, other := w.lease("coder"), w.agent("reviewer")
		w.accept(fika.TaskRequest, l.Agent, "go")
		c := w.claim(l)
		w.plan(c, 1, fika.Unsafe)
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitBackup, w.clock.Now().Add(time.Minute)))
		equal(w, "stays", must(w.HandOver(w.ctx, store.HandOver{Request: c.Request.ID, From: l.Agent, To: other.ID, Why: "test"}))(w).Done, false)
		w.clock.Advance(2 * time.Minute)
		again := w.claim(l)
		equal(w, "continues", fmt.Sprintf("%v %s", again.Request.ID == c.Request.ID, again.Waited), "true backup")
	},
	"what waits for a budget": func(w *world) {
		l, other := w.lease("coder"), w.agent("reviewer")
		w.limits = store.Limits{Backed: true, Budgets: limit.Budgets{
			List: []limit.Budget{{Scope: "agent:coder", Per: limit.PerTotal, Amount: limit.Amount{Tokens: 1}}},
			Call: func(string, bool) (limit.Amount, error) { return limit.Amount{Tokens: 10}, nil },
		}}
		first, second := w.accept(fika.TaskRequest, l.Agent, "one"), w.accept(fika.TaskRequest, l.Agent, "two")
		w.nothing(l)
		waits := w.state(first.Request.ID, fika.Waiting)
		equal(w, "may go", store.MayHandOver(waits), true)
		equal(w, "goes", must(w.HandOver(w.ctx, store.HandOver{Request: first.Request.ID, From: l.Agent, To: other.ID, Why: "no budget"}))(w).State, fika.Open)
		w.state(second.Request.ID, fika.Waiting)
		w.clock.Advance(time.Minute)
		w.nothing(l) // nobody has asked for the other one
		if r := w.state(second.Request.ID, fika.RequestFailed); !strings.Contains(r.Outcome.Error, "budget") {
			w.Errorf("it failed for %q", r.Outcome.Error)
		}
	},
}

// handOvers makes every store hand the same requests over while their agents claim:
// each request is worked once, by one agent, also if the first one begins it and gives it away.
func (r *race) handOvers() {
	const many = 12
	from, to := r.agent(r.name("from", 0)), r.agent(r.name("to", 0))
	leases := []store.Lease{r.lease(from), r.lease(to)}
	for n := range many {
		kind := fika.TaskRequest
		if n%2 == 1 {
			kind = fika.AskRequest
		}
		_, err := r.stores[0].Accept(r.ctx, store.NewRequest{ID: fika.RequestID(r.name("moved", n)), Kind: kind, Agent: from.ID, Payload: fika.Payload{Prompt: "x"}})
		r.check(err)
	}
	taken := &tally{}
	var handed tally
	r.all(func(i int, s *store.Store) error {
		if i < 2 {
			for idle := 0; idle < 20 || taken.len() < many; {
				c, err := s.Claim(r.ctx, leases[i], store.Limits{}, nil)
				if err != nil {
					return err
				}
				if c == nil {
					idle++
					continue
				}
				if i == 0 && !c.Resumed { // its provider fails
					if err := r.giveAway(i, c); err != nil {
						return err
					}
					continue
				}
				taken.add(string(c.Request.ID))
				if _, err := s.Finish(r.ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "ok"}}); err != nil {
					return err
				}
			}
			return nil
		}
		for n := range many {
			done, err := s.HandOver(r.ctx, store.HandOver{Request: fika.RequestID(r.name("moved", n)), From: from.ID, To: to.ID, Why: "race"})
			if err != nil {
				return err
			}
			if done.Done {
				handed.add(string(done.ID))
			}
		}
		return nil
	})
	r.count("worked", taken.len(), many)
	taken.once(r)
	handed.once(r)
}

// giveAway lets a turn wait for a backup for no time at all.
func (r *race) giveAway(i int, c *store.Claimed) error {
	if _, err := r.stores[i].Spend(r.ctx, c.Fence, store.Spent{Round: 1, Kind: fika.FailedStep, Model: "m", Why: "bad key"}); err != nil {
		return err
	}
	return r.stores[i].Suspend(r.ctx, c.Fence, fika.WaitBackup, time.UnixMilli(1))
}
