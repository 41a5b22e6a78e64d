package storetest

import (
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

// spendOn commits a model step that used tokens and asks for a tool.
func (w *world) spendOn(c store.Claimed, round int, tokens int64) {
	w.Helper()
	s := must(w.CommitModel(w.ctx, c.Fence, store.ModelCommit{
		Round: round, Text: "hm", Usage: fika.Usage{Input: tokens, Cost: 10 * tokens}, Calls: []store.PlannedCall{{CallID: "c", Tool: "read", Effect: fika.Pure}},
	}))(w)
	must(w.CommitTool(w.ctx, c.Fence, s.Steps[0].N, store.ToolCommit{Text: "ok"}))(w)
}

// halt ends a turn at the limit that it has reached.
func (w *world) halt(c store.Claimed) store.Finished {
	w.Helper()
	x := must(w.Exceeded(w.ctx, c.Fence, w.limits))(w)
	if x.Chain == "" {
		w.Fatal("nothing is exceeded")
	}
	return must(w.Finish(w.ctx, c.Fence, store.Finish{
		State: fika.RequestFailed, Reason: x.Reason, Limit: x.Chain, Limits: w.limits, Outcome: fika.Outcome{ErrorKind: fika.Limit},
	}))(w)
}

func (w *world) goOn(c fika.ConversationID, agents int) []fika.AgentName {
	w.Helper()
	ring := must(w.ContinueChain(w.ctx, c))(w)
	equal(w, "agents that go on", len(ring), agents)
	return ring
}

func num(n int64) *int64 { return &n }

var limitTests = map[string]func(*world){
	"a chain continues as often as it is continued": func(w *world) {
		w.limits = store.Limits{MaxDepth: 4}
		room := w.chat("room")
		w.pingPong(room)
		for again := 1; again <= 3; again++ {
			equal(w, "notices", w.notices(room.ID, "limit"), again)
			ring := w.goOn(room.ID, 1)
			l := w.lease(ring[0])
			c := w.claim(l)
			equal(w, "turns of the new chain", must(w.Chain(w.ctx, c.Request.Chain))(w).Turns, 1)
			w.answer(c, "on", "b", "a")
			w.drive()
		}
	},
	"a limit in the middle of a turn": func(w *world) {
		w.limits = store.Limits{MaxTokens: 100}
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "@coder go", "coder")
		c := w.claim(l)
		equal(w, "exceeded", must(w.Exceeded(w.ctx, c.Fence, w.limits))(w), store.Exceeded{})
		w.spendOn(c, 1, 100)
		done := w.halt(c)
		equal(w, "entries", len(done.Entries), 1)
		equal(w, "notices", w.notices(room.ID, "limit"), 1)
		equal(w, "kind", w.state(c.Request.ID, fika.RequestFailed).Outcome.ErrorKind, fika.Limit)
		w.nothing(l)
		w.goOn(room.ID, 1)
		equal(w, "exceeded", must(w.Exceeded(w.ctx, w.claim(l).Fence, w.limits))(w), store.Exceeded{})
	},
	"an asker hears of the limit, and trying again begins anew": func(w *world) {
		w.limits = store.Limits{MaxCost: 500}
		l := w.lease("coder")
		r := w.accept(fika.TaskRequest, l.Agent, "x").Request
		c := w.claim(l)
		w.spendOn(c, 1, 50)
		w.halt(c)
		out := w.state(r.ID, fika.RequestFailed).Outcome
		equal(w, "kind", out.ErrorKind, fika.Limit)
		if !strings.Contains(out.Error, "fika request retry "+string(r.ID)) {
			w.Errorf("the asker is told %q", out.Error)
		}
		again := must(w.Retry(w.ctx, r.ID))(w)
		equal(w, "chain of the new one", again.Chain, again.ID)
		equal(w, "claimed", w.claim(l).Request.ID, again.ID)
	},
	"trying again stays in its chain": func(w *world) {
		w.limits = store.Limits{MaxTurns: 2}
		l := w.lease("coder")
		r := w.accept(fika.AskRequest, l.Agent, "x").Request
		w.fail(w.claim(l), fika.RequestFailed)
		second := must(w.Retry(w.ctx, r.ID))(w)
		equal(w, "chain", second.Chain, r.ID)
		w.fail(w.claim(l), fika.RequestFailed)
		third := must(w.Retry(w.ctx, second.ID))(w)
		w.nothing(l)
		equal(w, "kind", w.state(third.ID, fika.RequestFailed).Outcome.ErrorKind, fika.Limit)
		fourth := must(w.Retry(w.ctx, third.ID))(w)
		equal(w, "chain", fourth.Chain, fourth.ID)
		equal(w, "claimed", w.claim(l).Request.ID, fourth.ID)
	},
	"a batch tried again at a limit can be continued": func(w *world) {
		w.limits = store.Limits{MaxTurns: 1}
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "1", "coder")
		c := w.claim(l)
		w.fail(c, fika.RequestFailed)
		w.state(must(w.Retry(w.ctx, c.Request.ID))(w).ID, fika.Open)
		w.nothing(l)
		w.goOn(room.ID, 1)
		equal(w, "covers", w.claim(l).Covers, 1)
	},
	"what continues is not counted again": func(w *world) {
		w.limits = store.Limits{MaxTurns: 2, HourTurns: 2}
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "1", "coder")
		c := w.claim(l)
		root := c.Request.Chain
		for _, again := range []func(){
			func() { w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitPause, time.Time{})) }, // pause and resume
			func() { w.ok(w.HandBack(w.ctx, c.Fence)) },                             // a polite restart
		} {
			again()
			c = w.claim(l)
			equal(w, "turns", must(w.Chain(w.ctx, root))(w).Turns, 1)
		}
		l = w.lease("coder") // the process was killed, and the hub starts another
		c = must(w.Recover(w.ctx, l))(w).Claimed[0]
		equal(w, "turns", must(w.Chain(w.ctx, root))(w).Turns, 1)
		w.answer(c, "ok")
		w.post(room, "2", "coder")
		w.answer(w.claim(l), "ok")
		w.post(room, "3", "coder")
		w.nothing(l)
	},
	"whoever asks, it is counted": func(w *world) {
		w.limits = store.Limits{MaxTurns: 9, HourTurns: 9}
		l, other := w.lease("coder"), w.lease("other")
		for _, kind := range []fika.RequestKind{fika.AskRequest, fika.TaskRequest, fika.RunRequest} {
			r := w.accept(kind, l.Agent, "x").Request
			w.answer(w.claim(l), "ok")
			equal(w, string(kind), must(w.Chain(w.ctx, r.ID))(w).Turns, 1)
		}
		run := must(w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest, Limits: w.limits}))(w)
		equal(w, "foreground", must(w.Chain(w.ctx, run.Request.ID))(w).Turns, 1)
		must(w.Deliver(w.ctx, store.Send{To: other.Agent, From: "coder", Writer: fika.ByAgent, WriterName: "coder", Content: "x", Chain: run.Request.ID, Depth: 1}))(w)
		w.answer(w.claim(other), "read")
		must(w.Accept(w.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: other.Agent, Parent: run.Request.ID, Chain: run.Request.ID, Depth: 1}))(w)
		w.answer(w.claim(other), "done")
		equal(w, "with message and task", must(w.Chain(w.ctx, run.Request.ID))(w).Turns, 3)
		w.fail(run, fika.RequestFailed)
		again := must(w.Retry(w.ctx, run.Request.ID))(w)
		w.answer(w.claim(l), "ok")
		equal(w, "tried again", must(w.Chain(w.ctx, again.Chain))(w).Turns, 4)
		must(w.Accept(w.ctx, store.NewRequest{ID: "foreign", Kind: fika.TaskRequest, Agent: l.Agent, Chain: "made up", Depth: 50}))(w)
		c := w.claim(l)
		equal(w, "a chain that is not known", c.Request.Chain, "foreign")
		equal(w, "its depth", c.Request.Depth, 0)
	},
	"time begins with the first turn": func(w *world) {
		w.limits = store.Limits{MaxAge: time.Hour}
		l := w.lease("coder")
		room := w.chat("room")
		p := w.post(room, "1", "coder")
		w.clock.Advance(2 * time.Hour)
		w.answer(w.claim(l), "late")
		must(w.Post(w.ctx, store.Post{Conversation: room.ID, Content: "2", Notify: []fika.AgentName{"coder"}, Chain: p.Entry.Chain, Depth: 1}))(w)
		c := w.claim(l)
		w.clock.Advance(time.Hour)
		equal(w, "exceeded", must(w.Exceeded(w.ctx, c.Fence, w.limits))(w).Chain, "time")
	},
	"no turn begins too deep": func(w *world) {
		w.limits = store.Limits{MaxDepth: 3}
		l := w.lease("coder")
		room := w.chat("room")
		p := w.post(room, "1", "coder")
		w.answer(w.claim(l), "ok")
		must(w.Post(w.ctx, store.Post{Conversation: room.ID, Content: "2", Notify: []fika.AgentName{"coder"}, Chain: p.Entry.Chain, Depth: 3}))(w)
		w.nothing(l)
		equal(w, "notices", w.notices(room.ID, "limit"), 1)
		w.goOn(room.ID, 1)
		equal(w, "depth", w.claim(l).Request.Depth, 0)
	},
	"repeating stops the chain": func(w *world) {
		w.limits = store.Limits{MaxEcho: 6}
		l := w.lease("coder")
		w.agent("critic")
		room := w.chat("room")
		w.post(room, "1", "coder")
		done := must(w.Finish(w.ctx, w.claim(l).Fence, store.Finish{
			State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "@critic thanks"}, Notify: []fika.AgentName{"critic"}, Echo: true, Limits: w.limits,
		}))(w)
		equal(w, "limited", done.Limited, "echo")
		equal(w, "rung", len(done.Notified), 0)
		equal(w, "entries", len(done.Entries), 2)
		if text := done.Entries[1].Content; !strings.Contains(text, "@coder and @critic") || !strings.Contains(text, "fika chat continue room") {
			w.Errorf("the notice says %q", text)
		}
		w.nothing(w.lease("critic"))
		w.goOn(room.ID, 1)
		w.claim(w.lease("critic"))
	},
	"where the chain began it is told, and continued": func(w *world) {
		w.limits = store.Limits{MaxTurns: 1}
		l, other := w.lease("coder"), w.lease("other")
		room := w.chat("room")
		w.post(room, "1", "coder")
		c := w.claim(l)
		p := must(w.Deliver(w.ctx, store.Send{To: other.Agent, From: "coder", Writer: fika.ByAgent, WriterName: "coder", Content: "do", Chain: c.Request.Chain, Depth: 1}))(w)
		w.answer(c, "done")
		w.nothing(other)
		equal(w, "notices where it stopped", w.notices(p.Entry.Conversation, "limit"), 1)
		equal(w, "notices where it began", w.notices(room.ID, "limit"), 1)
		w.goOn(room.ID, 1)
		equal(w, "conversation", w.claim(other).Request.Conversation, p.Entry.Conversation)
	},
	"limits of one chat go before those of its agents": func(w *world) {
		w.limits = store.Limits{MaxTurns: 7, MaxDepth: 100}
		room := w.chat("room")
		w.ok(w.SetLimits(w.ctx, room.ID, fika.ChainLimits{Turns: num(3)}))
		equal(w, "turns", w.pingPong(room), 3)
		wide := w.chat("wide")
		w.ok(w.SetLimits(w.ctx, wide.ID, fika.ChainLimits{Turns: num(0), Depth: num(9)}))
		equal(w, "turns", w.pingPong(wide), 9)
		plain := w.chat("plain")
		equal(w, "turns", w.pingPong(plain), 7)
		w.ok(w.SetLimits(w.ctx, wide.ID, fika.ChainLimits{}))
		equal(w, "limits", must(w.Conversation(w.ctx, "wide"))(w).Limits, fika.ChainLimits{})
		w.refused(w.SetLimits(w.ctx, "none", fika.ChainLimits{}), fika.NotFound)
	},
	"a higher limit is told of as well": func(w *world) {
		room := w.chat("room")
		w.ok(w.SetLimits(w.ctx, room.ID, fika.ChainLimits{Turns: num(1)}))
		l := w.lease("coder")
		p := w.post(room, "1", "coder")
		more := func() {
			must(w.Post(w.ctx, store.Post{Conversation: room.ID, Content: "+", Notify: []fika.AgentName{"coder"}, Chain: p.Entry.Chain, Depth: 1}))(w)
		}
		w.answer(w.claim(l), "ok")
		more()
		w.nothing(l)
		w.ok(w.SetLimits(w.ctx, room.ID, fika.ChainLimits{Turns: num(2)}))
		more()
		w.answer(w.claim(l), "ok")
		more()
		more()
		w.nothing(l)
		equal(w, "notices", w.notices(room.ID, "limit"), 2)
	},
	"chains of a conversation": func(w *world) {
		w.limits = store.Limits{MaxTurns: 3}
		room := w.chat("room")
		equal(w, "chains", len(must(w.Chains(w.ctx, room.ID))(w)), 0)
		w.pingPong(room)
		all := must(w.Chains(w.ctx, room.ID))(w)
		equal(w, "chains", len(all), 1)
		equal(w, "turns", all[0].Turns, 3)
		equal(w, "depth", all[0].Depth, 3)
		equal(w, "stopped", all[0].Stopped, 1)
		equal(w, "current", all[0].Current, false)
		w.post(room, "1", "a")
		w.post(room, "2", "b")
		all = must(w.Chains(w.ctx, room.ID))(w)
		equal(w, "chains", len(all), 2)
		equal(w, "current", all[0].Current && all[1].Current, true)
	},
	"turns of an hour": func(w *world) {
		w.limits = store.Limits{HourTurns: 2}
		l := w.lease("coder")
		room, hall := w.chat("room"), w.chat("hall")
		for range 2 {
			w.post(room, "x", "coder")
			w.answer(w.claim(l), "ok")
		}
		w.nothing(l)
		equal(w, "held although nothing waits", w.agent("coder").QuotaUsedUp(w.clock.Now()), false)
		w.post(room, "y", "coder")
		w.post(hall, "z", "coder")
		r := w.accept(fika.TaskRequest, l.Agent, "t")
		for range 3 {
			w.nothing(l)
		}
		for _, c := range []fika.ConversationID{room.ID, hall.ID, r.Conversation.ID} {
			equal(w, "notices", w.notices(c, "limit"), 1)
		}
		a := w.agent("coder")
		equal(w, "held", a.QuotaUsedUp(w.clock.Now()), true)
		equal(w, "why", a.HeldReason, "2 turns per hour")
		equal(w, "with work", len(must(w.WithWork(w.ctx))(w)), 0)
		equal(w, "pending", w.pending(room.ID)+w.pending(hall.ID), 2)
		_, err := w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest, Limits: w.limits})
		w.refused(err, fika.Limit)
		w.clock.Advance(a.HeldUntil.Sub(w.clock.Now()))
		equal(w, "with work", len(must(w.WithWork(w.ctx))(w)), 1)
		l = w.lease("coder") // another owner, as after a restart
		w.answer(w.claim(l), "ok")
		w.answer(w.claim(l), "ok")
		w.nothing(l)
		equal(w, "notices", w.notices(r.Conversation.ID, "limit"), 2)
		w.clock.Advance(time.Hour)
		equal(w, "claimed", w.claim(l).Request.ID, r.Request.ID)
		equal(w, "held", w.agent("coder").HeldUntil.IsZero(), true)
	},
	"counters of an hour outlive their owner": func(w *world) {
		w.limits = store.Limits{HourTurns: 2}
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "x", "coder")
		c := w.claim(l)
		l = w.lease("coder") // the first one was killed
		rec := must(w.Recover(w.ctx, l))(w)
		equal(w, "recovered", rec.Claimed[0].Request.ID, c.Request.ID)
		w.ok(w.HandBack(w.ctx, rec.Claimed[0].Fence))
		w.answer(w.claim(l), "the same turn continues")
		w.post(room, "y", "coder")
		c = w.claim(l)
		w.post(room, "z", "coder")
		w.ok(w.HandBack(w.ctx, c.Fence))
		w.answer(w.claim(l), "what had begun continues")
		w.nothing(l)
		equal(w, "pending", w.pending(room.ID), 1)
	},
	"tokens of an hour": func(w *world) {
		w.limits = store.Limits{HourTokens: 100}
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "x", "coder")
		c := w.claim(l)
		w.spendOn(c, 1, 100)
		x := must(w.Exceeded(w.ctx, c.Fence, w.limits))(w)
		equal(w, "chain", x.Chain, "")
		equal(w, "until", x.Until.After(w.clock.Now()), true)
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitLimit, x.Until))
		w.nothing(l)
		equal(w, "notices", w.notices(room.ID, "limit"), 1)
		w.post(w.chat("hall"), "y", "coder")
		w.nothing(l)
		w.clock.Advance(x.Until.Sub(w.clock.Now()))
		again := w.claim(l)
		equal(w, "continues", again.Request.ID, c.Request.ID)
		equal(w, "exceeded", must(w.Exceeded(w.ctx, again.Fence, w.limits))(w), store.Exceeded{})
	},
	"a higher limit lets go at once": func(w *world) {
		w.limits = store.Limits{HourTurns: 1}
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "x", "coder")
		w.answer(w.claim(l), "ok")
		w.post(room, "y", "coder")
		w.nothing(l)
		w.limits.HourTurns = 2
		w.claim(l)
		equal(w, "held", w.agent("coder").HeldUntil.IsZero(), true)
	},
	"a clock that is set back holds nobody for long": func(w *world) {
		w.limits = store.Limits{HourTurns: 1}
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "x", "coder")
		w.answer(w.claim(l), "ok")
		w.post(room, "y", "coder")
		w.nothing(l)
		w.clock.Advance(-5 * time.Hour)
		equal(w, "held", w.agent("coder").QuotaUsedUp(w.clock.Now()), false)
		equal(w, "with work", len(must(w.WithWork(w.ctx))(w)), 1)
		w.claim(l)
	},
}

// drive makes a and b answer until nobody has work.
func (w *world) drive() {
	w.Helper()
	for {
		idle := true
		for _, name := range []fika.AgentName{"a", "b"} {
			if c := must(w.Claim(w.ctx, w.lease(name), w.limits, nil))(w); c != nil {
				idle = false
				peer := map[fika.AgentName]fika.AgentName{"a": "b", "b": "a"}[name]
				w.answer(*c, "@"+string(peer), peer)
			}
		}
		if idle {
			return
		}
	}
}
