package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"fika"
	"fika/internal/store"
)

func asJSON(w *world, v any) string {
	w.Helper()
	return string(must(json.Marshal(v))(w))
}

var acceptTests = map[string]func(*world){
	"a repeat is recognised, another body refused": func(w *world) {
		a, b := w.agent("coder"), w.agent("other")
		n := store.NewRequest{ID: "r-1", Kind: fika.AskRequest, Agent: a.ID, Payload: fika.Payload{Prompt: "hello"}}
		first := must(w.Accept(w.ctx, n))(w)
		equal(w, "repeat", first.Repeat, false)
		n.Deadline = w.clock.Now().Add(time.Hour) // computed at arrival
		equal(w, "repeat", must(w.Accept(w.ctx, n))(w).Repeat, true)
		other := n
		other.Payload.Prompt = "something else"
		_, err := w.Accept(w.ctx, other)
		w.refused(err, fika.Conflict)
		other = n
		other.Agent = b.ID
		_, err = w.Accept(w.ctx, other)
		w.refused(err, fika.Conflict)
		w.answer(w.claim(w.lease("coder")), "hi")
		again := must(w.Accept(w.ctx, n))(w)
		equal(w, "repeat", again.Repeat, true)
		equal(w, "outcome", again.Request.Outcome.Answer, "hi")
	},
	"tasks are isolated, asks go on": func(w *world) {
		a := w.agent("coder")
		t1, t2 := w.accept(fika.TaskRequest, a.ID, "x"), w.accept(fika.TaskRequest, a.ID, "x")
		if t1.Conversation.ID == t2.Conversation.ID {
			w.Fatal("two tasks share a conversation")
		}
		a1, a2 := w.accept(fika.AskRequest, a.ID, "x"), w.accept(fika.AskRequest, a.ID, "y")
		equal(w, "conversation", a1.Conversation.ID, a2.Conversation.ID)
		equal(w, "active", must(w.ActiveAsk(w.ctx, a.ID))(w).ID, a1.Conversation.ID)
	},
	"history seeds an unknown conversation only": func(w *world) {
		a := w.agent("coder")
		n := store.NewRequest{Kind: fika.AskRequest, Agent: a.ID, Conversation: "conv-1", Payload: fika.Payload{
			Prompt: "and now?", History: []fika.HistoryEntry{{Role: "user", Content: "q"}, {Role: "assistant", Content: "a"}},
		}}
		c := must(w.Accept(w.ctx, n))(w).Conversation
		equal(w, "name", c.Name, "conv-1")
		must(w.Accept(w.ctx, n))(w)
		all := w.entries(c.ID)
		equal(w, "seeded", len(all), 2)
		equal(w, "who", all[0].From+" "+all[1].From, "user coder")
	},
	"a conversation of somebody else is refused": func(w *world) {
		a := w.agent("coder")
		w.chat("room")
		_, err := w.Accept(w.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: a.ID, Conversation: "room"})
		w.refused(err, fika.Conflict)
		_, err = w.Accept(w.ctx, store.NewRequest{Kind: fika.NotifyRequest, Agent: a.ID})
		w.refused(err, fika.Invalid)
		_, err = w.Accept(w.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: "nobody"})
		w.refused(err, fika.NotFound)
	},
	"foreign chains count only if known": func(w *world) {
		a := w.agent("coder")
		r := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: a.ID, Chain: "invented", Depth: 40}))(w).Request
		equal(w, "chain", r.Chain, r.ID)
		equal(w, "depth", r.Depth, 0)
		child := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: a.ID, Chain: r.ID, Depth: 3}))(w).Request
		equal(w, "chain", child.Chain, r.ID)
		equal(w, "depth", child.Depth, 3)
	},
	"found by a unique beginning": func(w *world) {
		a := w.agent("coder")
		for _, id := range []fika.RequestID{"abcdef-1", "abcdef-2", "abcdeg-3"} {
			must(w.Accept(w.ctx, store.NewRequest{ID: id, Kind: fika.TaskRequest, Agent: a.ID}))(w)
		}
		equal(w, "id", must(w.Request(w.ctx, "abcdeg"))(w).ID, "abcdeg-3")
		_, err := w.Request(w.ctx, "abcdef")
		w.refused(err, fika.Invalid)
		_, err = w.Request(w.ctx, "abcde")
		w.refused(err, fika.NotFound)
	},
	"lists are filtered, newest first": func(w *world) {
		a := w.agent("coder")
		w.accept(fika.TaskRequest, a.ID, "one")
		last := w.accept(fika.AskRequest, a.ID, "two").Request
		all := must(w.ListRequests(w.ctx, store.RequestFilter{Agent: a.ID}))(w)
		equal(w, "newest", all[0].ID, last.ID)
		equal(w, "asks", len(must(w.ListRequests(w.ctx, store.RequestFilter{Kinds: []fika.RequestKind{fika.AskRequest}}))(w)), 1)
		equal(w, "open", len(must(w.ListRequests(w.ctx, store.RequestFilter{States: []fika.RequestState{fika.Open, fika.Running}}))(w)), 2)
		equal(w, "limit", len(must(w.ListRequests(w.ctx, store.RequestFilter{Limit: 1}))(w)), 1)
		equal(w, "since", len(must(w.ListRequests(w.ctx, store.RequestFilter{Since: w.clock.Now()}))(w)), 0)
	},
}

var claimTests = map[string]func(*world){
	"asks, then chats, then tasks; oldest first": func(w *world) {
		l := w.lease("coder")
		task := w.accept(fika.TaskRequest, l.Agent, "t").Request
		room, hall := w.chat("room"), w.chat("hall")
		w.post(room, "1", "coder")
		w.post(hall, "2", "coder")
		ask1 := w.accept(fika.AskRequest, l.Agent, "a1").Request
		ask2 := w.accept(fika.AskRequest, l.Agent, "a2").Request
		work := must(w.WithWork(w.ctx))(w)
		equal(w, "agents with work", len(work), 1)
		equal(w, "pieces", work[0].Open, 5)
		var got []string
		for range 5 {
			c := w.claim(l)
			switch c.Request.ID {
			case task.ID, ask1.ID, ask2.ID:
				got = append(got, string(c.Request.Kind)+" "+c.Request.Payload.Prompt)
			default:
				got = append(got, string(c.Conversation.Name))
			}
			w.answer(c, "ok")
		}
		equal(w, "order", fmt.Sprint(got), "[ask a1 ask a2 room hall task t]")
		w.nothing(l)
		equal(w, "agents with work", len(must(w.WithWork(w.ctx))(w)), 0)
	},
	"the prompt becomes an entry": func(w *world) {
		l := w.lease("coder")
		must(w.Accept(w.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: l.Agent, Payload: fika.Payload{Prompt: "why?", From: "ann"}}))(w)
		c := w.claim(l)
		equal(w, "prompt", c.Prompt.Content, "why?")
		equal(w, "from", c.Prompt.From, "ann")
		equal(w, "to", c.Prompt.To, "coder")
		equal(w, "upto", c.Request.UptoSeq, c.Prompt.Seq)
		f := w.answer(c, "because")
		equal(w, "to", f.Entries[0].To, "ann")
		equal(w, "final", f.Entries[0].Meta.Final, true)
		equal(w, "default", w.begin(l, "x").Prompt.From, "user")
	},
	"continue needs no prompt": func(w *world) {
		l := w.lease("coder")
		w.fail(w.begin(l, "x"), fika.RequestFailed)
		c := must(w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest, Payload: fika.Payload{Continue: true, Prompt: "ignored"}}))(w)
		if c.Prompt != nil {
			w.Fatal("a prompt was made")
		}
		equal(w, "upto", c.Request.UptoSeq, 2)
	},
	"one turn per conversation": func(w *world) {
		l := w.lease("coder")
		w.lease("other")
		run := w.begin(l, "x")
		w.accept(fika.AskRequest, l.Agent, "later")
		must(w.Deliver(w.ctx, store.Send{To: l.Agent, From: "other", Content: "hi"}))(w)
		w.nothing(l)
		_, err := w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest, Payload: fika.Payload{Prompt: "y"}})
		w.refused(err, fika.Locked)
		w.accept(fika.TaskRequest, l.Agent, "elsewhere")
		equal(w, "kind", w.claim(l).Request.Kind, fika.TaskRequest)
		w.answer(run, "ok")
		equal(w, "kind", w.claim(l).Request.Kind, fika.AskRequest)
	},
	"two agents work in one chat": func(w *world) {
		a, b := w.lease("a"), w.lease("b")
		room := w.chat("room")
		w.post(room, "@a @b", "a", "b")
		w.claim(a)
		w.claim(b)
	},
	"a chat turn covers all that is pending and freezes its window": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "1", "coder")
		w.post(room, "2")
		last := w.post(room, "3", "coder").Entry
		c := w.claim(l)
		equal(w, "covers", c.Covers, 2)
		equal(w, "upto", c.Request.UptoSeq, 3)
		equal(w, "chain", c.Request.Chain, last.Chain)
		w.post(room, "4", "coder")
		equal(w, "replies to", w.answer(c, "ok").Entries[0].ReplyTo, last.ID)
		equal(w, "upto", w.claim(l).Request.UptoSeq, 5)
	},
	"pause holds, resume rings": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		must(w.SetPaused(w.ctx, room.ID, true))(w)
		equal(w, "paused", w.post(room, "1", "coder").Paused, true)
		w.nothing(l)
		equal(w, "agents with work", len(must(w.WithWork(w.ctx))(w)), 0)
		equal(w, "ring", fmt.Sprint(must(w.SetPaused(w.ctx, room.ID, false))(w)), "[coder]")
		w.answer(w.claim(l), "ok")
		must(w.SetAllPaused(w.ctx, true))(w)
		equal(w, "all paused", must(w.AllPaused(w.ctx))(w), true)
		w.post(w.chat("new"), "2", "coder")
		w.accept(fika.AskRequest, l.Agent, "x")
		w.nothing(l)
		_, err := w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest})
		w.refused(err, fika.Locked)
		equal(w, "ring", fmt.Sprint(must(w.SetAllPaused(w.ctx, false))(w)), "[coder]")
		w.claim(l)
	},
	"a pause of an hour, by owners that are gone since": func(w *world) {
		gone := []store.Lease{w.lease("coder"), w.lease("reviewer")}
		room := w.chat("room")
		w.post(room, "1", "coder")
		turn := w.claim(gone[0])
		w.post(room, "2", "coder", "reviewer")
		must(w.SetPaused(w.ctx, room.ID, true))(w)
		equal(w, "signal", must(w.Signal(w.ctx, turn.Fence))(w).Paused, true)
		w.ok(w.Suspend(w.ctx, turn.Fence, fika.WaitPause, time.Time{}))
		must(w.SetPaused(w.ctx, room.ID, true))(w)
		w.post(room, "3", "coder", "reviewer")
		w.clock.Advance(time.Hour)
		early, late := w.lease("coder"), w.lease("reviewer") // the earlier leases have lapsed
		for _, l := range gone {
			_, err := w.Claim(w.ctx, l, w.limits, nil)
			w.refused(err, fika.Lost)
		}
		for _, l := range []store.Lease{early, late} {
			equal(w, "recovered", len(must(w.Recover(w.ctx, l))(w).Claimed), 0)
			w.nothing(l)
		}
		equal(w, "ring", fmt.Sprint(must(w.SetPaused(w.ctx, room.ID, false))(w)), "[coder reviewer]")
		again := w.claim(early)
		equal(w, "the turn that was held", again.Request.ID, turn.Request.ID)
		equal(w, "its window", again.Request.UptoSeq, turn.Request.UptoSeq)
		w.answer(again, "to 1")
		next := w.claim(early)
		equal(w, "covers", next.Covers, 2)
		w.answer(next, "to 2 and 3")
		other := w.claim(late)
		equal(w, "covers", other.Covers, 2)
		w.answer(other, "to 2 and 3, too")
		for _, l := range []store.Lease{early, late} {
			w.nothing(l)
		}
		equal(w, "messages", w.info(room.ID).Messages, 6)
	},
	"a prompt covers the inbox": func(w *world) {
		l := w.lease("coder")
		must(w.Deliver(w.ctx, store.Send{To: l.Agent, From: "other", Content: "hi"}))(w)
		c := w.begin(l, "x")
		equal(w, "covers", c.Covers, 1)
		w.fail(c, fika.RequestFailed)
		c = w.begin(l, "y") // pending again
		equal(w, "covers", c.Covers, 1)
		w.answer(c, "ok")
		w.nothing(l)
	},
	"handed back is claimed again": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "x")
		for range 5 { // an attempt that is given back does not count
			c := w.claim(l)
			equal(w, "prompt", c.Prompt.Content, "x")
			equal(w, "attempts", c.Request.Attempts, 1)
			w.ok(w.HandBack(w.ctx, c.Fence))
			w.refused(w.HandBack(w.ctx, c.Fence), fika.Lost)
		}
		c := w.claim(l)
		equal(w, "resumed", c.Resumed, true)
		equal(w, "entries", len(w.entries(c.Conversation.ID)), 1)
	},
	"a foreground request is nobody else's": func(w *world) {
		l := w.lease("coder")
		c := w.begin(l, "x")
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitPause, time.Time{}))
		w.nothing(w.lease("coder"))
		equal(w, "agents with work", len(must(w.WithWork(w.ctx))(w)), 0)
	},
	"waiting ends when its reason does": func(w *world) {
		l := w.lease("coder")
		c := w.begin(l, "x")
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitLimit, w.clock.Now().Add(time.Hour)))
		w.refused(w.HandBack(w.ctx, c.Fence), fika.Lost)
		w.nothing(l)
		w.clock.Advance(time.Hour)
		c = w.claim(l)
		must(w.SetPaused(w.ctx, c.Conversation.ID, true))(w)
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitPause, time.Time{}))
		w.nothing(l)
		must(w.SetPaused(w.ctx, c.Conversation.ID, false))(w)
		equal(w, "resumed", w.claim(l).Resumed, true)
	},
	"a parent waits for all its children": func(w *world) {
		l, other := w.lease("coder"), w.lease("other")
		parent := w.begin(l, "x")
		for i := range 2 {
			must(w.Accept(w.ctx, store.NewRequest{
				ID: fika.RequestID(fmt.Sprintf("child-%d", i)), Kind: fika.TaskRequest, Agent: other.Agent,
				Parent: parent.Request.ID, Chain: parent.Request.Chain, Depth: 1,
			}))(w)
		}
		w.ok(w.Suspend(w.ctx, parent.Fence, fika.WaitChild, time.Time{}))
		w.answer(w.claim(other), "one")
		w.nothing(l)
		f := w.answer(w.claim(other), "two")
		equal(w, "ring", fmt.Sprint(f.Notified), "[coder]")
		equal(w, "parent", w.claim(l).Request.ID, parent.Request.ID)
	},
}
