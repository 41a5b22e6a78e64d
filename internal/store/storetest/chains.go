package storetest

import (
	"fmt"
	"time"

	"fika"
	"fika/internal/store"
)

// pingPong makes two agents mention each other until nobody has work, and returns the
// number of turns that they took.
func (w *world) pingPong(room fika.Conversation) int {
	w.Helper()
	a, b := w.lease("a"), w.lease("b")
	w.post(room, "@a go", "a")
	for turns := 0; ; {
		idle := true
		for l, peer := range map[store.Lease]fika.AgentName{a: "b", b: "a"} {
			c := must(w.Claim(w.ctx, l, w.limits, nil))(w)
			if c == nil {
				continue
			}
			idle = false
			turns++
			w.clock.Advance(time.Second)
			must(w.Finish(w.ctx, c.Fence, store.Finish{
				State: fika.Done, Limits: w.limits, Notify: []fika.AgentName{peer},
				Final: &store.ModelCommit{Round: 1, Text: "@" + string(peer), Usage: fika.Usage{Input: 90, Output: 10, Cost: 1000}},
			}))(w)
		}
		if idle {
			return turns
		}
		if turns > 1000 {
			w.Fatal("nothing stops the chain")
		}
	}
}

func (w *world) notices(c fika.ConversationID, kind string) int {
	w.Helper()
	n := 0
	for _, e := range w.entries(c) {
		if e.Type == fika.Notice && e.Meta.Kind == kind {
			n++
		}
	}
	return n
}

func limited(l store.Limits, turns int) func(*world) {
	return func(w *world) {
		w.limits = l
		room := w.chat("room")
		equal(w, "turns", w.pingPong(room), turns)
		equal(w, "notices", w.notices(room.ID, "limit"), 1)
		equal(w, "pending", w.pending(room.ID), 0)
		w.whole(room.ID)
		ring := must(w.ContinueChain(w.ctx, room.ID))(w)
		equal(w, "stopped agents", len(ring), 1)
		equal(w, "pending", w.pending(room.ID), 1)
		_, err := w.ContinueChain(w.ctx, room.ID)
		w.refused(err, fika.NotFound)
		c := w.claim(w.lease(ring[0]))
		equal(w, "depth", c.Request.Depth, 0)
	}
}

var chainTests = map[string]func(*world){
	"turns are limited":  limited(store.Limits{MaxTurns: 5}, 5),
	"tokens are limited": limited(store.Limits{MaxTokens: 350}, 4),
	"money is limited":   limited(store.Limits{MaxCost: 2500}, 3),
	"time is limited":    limited(store.Limits{MaxAge: 4 * time.Second}, 4),
	"depth is limited":   limited(store.Limits{MaxDepth: 2}, 2),
	"counters": func(w *world) {
		w.limits = store.Limits{MaxTurns: 3}
		room := w.chat("room")
		w.pingPong(room)
		ch := must(w.Chain(w.ctx, w.entries(room.ID)[0].Chain))(w)
		equal(w, "turns", ch.Turns, 3)
		equal(w, "tokens", ch.Tokens, 300)
		equal(w, "cost", ch.Cost, 3000)
		equal(w, "limit", ch.LimitHit, "turns")
		_, err := w.Chain(w.ctx, "none")
		w.refused(err, fika.NotFound)
	},
	"after a limit the next work is looked for": func(w *world) {
		w.limits = store.Limits{MaxTurns: 1}
		l := w.lease("coder")
		first, second := w.chat("first"), w.chat("second")
		p := w.post(first, "1", "coder")
		w.answer(w.claim(l), "ok")
		must(w.Post(w.ctx, store.Post{Conversation: first.ID, Content: "2", Notify: []fika.AgentName{"coder"}, Chain: p.Entry.Chain, Depth: 1}))(w)
		w.post(second, "3", "coder")
		c := w.claim(l)
		equal(w, "conversation", c.Conversation.Name, "second")
		equal(w, "noticed", len(c.Noticed), 1)
		equal(w, "notices", w.notices(first.ID, "limit"), 1)
	},
	"depth is the largest of the newest chain": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		old := w.post(room, "1", "coder").Entry
		young := w.post(room, "2", "coder").Entry
		for _, n := range []struct {
			chain fika.RequestID
			depth int
		}{{old.Chain, 9}, {young.Chain, 4}, {young.Chain, 2}} {
			must(w.Post(w.ctx, store.Post{Conversation: room.ID, Content: "x", Notify: []fika.AgentName{"coder"}, Chain: n.chain, Depth: n.depth}))(w)
		}
		c := w.claim(l)
		equal(w, "chain", c.Request.Chain, young.Chain)
		equal(w, "depth", c.Request.Depth, 4)
		equal(w, "covers", c.Covers, 5)
		equal(w, "answer's depth", w.answer(c, "ok").Entries[0].Depth, 5)
	},
	"a child beyond the limit fails": func(w *world) {
		w.limits = store.Limits{MaxTurns: 1}
		l, other := w.lease("coder"), w.lease("other")
		parent := w.begin(l, "x")
		child := must(w.Accept(w.ctx, store.NewRequest{
			Kind: fika.TaskRequest, Agent: other.Agent, Parent: parent.Request.ID, Chain: parent.Request.Chain, Depth: 1,
		}))(w).Request
		w.ok(w.Suspend(w.ctx, parent.Fence, fika.WaitChild, time.Time{}))
		w.nothing(other)
		equal(w, "error", w.state(child.ID, fika.RequestFailed).Outcome.ErrorKind, fika.Limit)
		equal(w, "parent", w.claim(l).Request.ID, parent.Request.ID)
	},
	"self mentions do nothing": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "1", "coder")
		equal(w, "notified", fmt.Sprint(w.answer(w.claim(l), "@coder", "coder").Notified), "[]")
		w.nothing(l)
	},
}
