package storetest

import (
	"fmt"
	"time"

	"fika"
	"fika/internal/store"
)

var turnTests = map[string]func(*world){
	"a model step with its calls is one": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		steps := w.plan(c, 1, fika.Pure, "")
		equal(w, "tool steps", len(steps), 2)
		equal(w, "undeclared", steps[1].Effect, fika.Unsafe)
		all := must(w.Steps(w.ctx, c.Request.ID))(w)
		equal(w, "steps", len(all), 3)
		equal(w, "model step", all[0].Kind, fika.ModelStep)
		equal(w, "kinds", types(must(w.OfRequest(w.ctx, c.Request.ID))(w)), "message message tool_call tool_call")
		_, err := w.CommitModel(w.ctx, c.Fence, store.ModelCommit{Round: 1})
		w.refused(err, fika.Conflict)
	},
	"a tool step begins and ends": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		n := w.plan(c, 1, fika.Unsafe)[0].N
		must(w.BeginTool(w.ctx, c.Fence, n, "before", ""))(w)
		w.ok(w.RecordProcess(w.ctx, c.Fence, n, fika.Process{PID: 42, Start: 7, BootID: "b"}))
		_, err := w.BeginTool(w.ctx, c.Fence, n, "", "")
		w.refused(err, fika.Conflict) // unsafe: never twice
		e := must(w.CommitTool(w.ctx, c.Fence, n, store.ToolCommit{Text: "out", IsError: true, PostHash: "after"}))(w)
		equal(w, "call id", e.Meta.ToolCallID, "call-1-0")
		equal(w, "speakers", e.From+" "+e.To, "read coder")
		st := must(w.Steps(w.ctx, c.Request.ID))(w)[1]
		equal(w, "step", fmt.Sprint(st.State, st.PreHash, st.PostHash, st.Proc.PID, st.Entry == e.ID), "donebeforeafter42 true")
		_, err = w.CommitTool(w.ctx, c.Fence, n, store.ToolCommit{})
		w.refused(err, fika.Conflict)
		_, err = w.BeginTool(w.ctx, c.Fence, n, "", "")
		w.refused(err, fika.Conflict)
		_, err = w.BeginTool(w.ctx, c.Fence, 99, "", "")
		w.refused(err, fika.NotFound)
		w.refused(w.RecordProcess(w.ctx, c.Fence, n, fika.Process{}), fika.Conflict)
		w.whole(c.Conversation.ID)
	},
	"a repeatable step may begin again": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		for _, s := range w.plan(c, 1, fika.Pure, fika.Idempotent, fika.Verifiable) {
			must(w.BeginTool(w.ctx, c.Fence, s.N, "", ""))(w)
			must(w.BeginTool(w.ctx, c.Fence, s.N, "", ""))(w)
		}
	},
	"a person at a terminal is not held": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		n := w.plan(c, 1, fika.Pure)[0].N
		must(w.SetPaused(w.ctx, c.Conversation.ID, true))(w)
		equal(w, "paused", must(w.BeginTool(w.ctx, c.Fence, n, "", ""))(w).Paused, false)
		equal(w, "state", must(w.Steps(w.ctx, c.Request.ID))(w)[1].State, fika.StepStarted)
	},
	"a model step without text is its first call": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		u := fika.Usage{Input: 3, Output: 1}
		p := must(w.CommitModel(w.ctx, c.Fence, store.ModelCommit{Round: 1, Usage: u, Calls: []store.PlannedCall{{CallID: "a", Tool: "read"}, {CallID: "b", Tool: "read"}}}))(w)
		equal(w, "entries", len(p.Entries), 2)
		equal(w, "usage", *p.Entries[0].Meta.Usage, u)
		equal(w, "second usage", p.Entries[1].Meta.Usage, nil)
		equal(w, "step", must(w.Steps(w.ctx, c.Request.ID))(w)[0].Entry, p.Entries[0].ID)
	},
	"cancel and pause keep a step from starting": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		n := w.plan(c, 1, fika.Pure)[0].N
		must(w.SetPaused(w.ctx, c.Conversation.ID, true))(w)
		equal(w, "paused", must(w.BeginTool(w.ctx, c.Fence, n, "", ""))(w).Paused, true)
		must(w.SetPaused(w.ctx, c.Conversation.ID, false))(w)
		must(w.Cancel(w.ctx, c.Request.ID, "enough"))(w)
		sig := must(w.BeginTool(w.ctx, c.Fence, n, "", ""))(w)
		equal(w, "signal", fmt.Sprint(sig), fmt.Sprint(store.Signal{Cancel: true, Reason: "enough"}))
		equal(w, "state", must(w.Steps(w.ctx, c.Request.ID))(w)[1].State, fika.StepPlanned)
		equal(w, "signal", must(w.Signal(w.ctx, c.Fence))(w), sig)
	},
	"the deadline signals": func(w *world) {
		l := w.lease("coder")
		c := must(w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest, Deadline: w.clock.Now().Add(time.Minute)}))(w)
		equal(w, "before", must(w.Signal(w.ctx, c.Fence))(w).Deadline, false)
		w.clock.Advance(time.Minute)
		equal(w, "after", must(w.Signal(w.ctx, c.Fence))(w).Deadline, true)
	},
	"usage is counted": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		w.plan(c, 1)
		w.plan(c, 2)
		must(w.CommitCompaction(w.ctx, c.Fence, 3, "short", fika.EntryMeta{UpTo: 1}, fika.Usage{Input: 5, Cost: 1, Estimated: true}, "small"))(w)
		f := w.answer(c, "ok")
		equal(w, "outcome", f.Request.Outcome.Usage, fika.Usage{Input: 205, Output: 20, Cost: 15, Estimated: true})
		rows := must(w.UsageSince(w.ctx, time.Time{}))(w)
		equal(w, "rows", fmt.Sprint(rows), "[{coder m 1 {200 20 0 0 0 14 false false false}} {coder small 1 {5 0 0 0 0 1 true false false}}]")
		equal(w, "later", len(must(w.UsageSince(w.ctx, w.clock.Now().Add(time.Millisecond)))(w)), 0)
		w.spent(f.Request, "", 2)
	},
	"what is spent belongs to the chat": func(w *world) {
		l, room := w.lease("coder"), w.chat("design")
		w.post(room, "@coder look", "coder")
		c := w.claim(l)
		w.plan(c, 1)
		w.spent(w.answer(c, "ok").Request, "design", 1)
	},
	"every write needs the fence": func(w *world) {
		l := w.lease("coder")
		c := w.begin(l, "x")
		n := w.plan(c, 1, fika.Pure)[0].N
		stale := c.Fence
		stale.Epoch--
		w.fenced(stale, n)
		twin := c.Fence
		twin.Lease = "another with this epoch"
		w.fenced(twin, n)
		stranger := c.Fence
		stranger.Agent = w.agent("other").ID
		w.fenced(stranger, n)
		w.answer(c, "ok")
		w.fenced(c.Fence, n)
		w.whole(c.Conversation.ID)
	},
}

// fenced tries every write with a fence that does not hold.
func (w *world) fenced(f store.Fence, n int) {
	w.Helper()
	_, e1 := w.Signal(w.ctx, f)
	_, e2 := w.CommitModel(w.ctx, f, store.ModelCommit{Round: 9})
	_, e3 := w.BeginTool(w.ctx, f, n, "", "")
	_, e4 := w.CommitTool(w.ctx, f, n, store.ToolCommit{})
	_, e5 := w.CommitCompaction(w.ctx, f, 9, "", fika.EntryMeta{}, fika.Usage{}, "")
	_, e6 := w.Finish(w.ctx, f, store.Finish{State: fika.Done})
	_, e7 := w.Delegate(w.ctx, f, []store.Delegation{{N: n, Agent: w.agent("peer").ID, Deadline: time.Minute}})
	_, e8 := w.Await(w.ctx, f)
	for _, err := range []error{
		e1, e2, e3, e4, e5, e6, e7, e8, w.RecordProcess(w.ctx, f, n, fika.Process{}),
		w.Suspend(w.ctx, f, fika.WaitPause, time.Time{}), w.HandBack(w.ctx, f),
	} {
		w.refused(err, fika.Lost)
	}
}

func types(entries []fika.Entry) string {
	s := ""
	for i, e := range entries {
		if i > 0 {
			s += " "
		}
		s += string(e.Type)
	}
	return s
}

var finishTests = map[string]func(*world){
	"one outcome": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		_, err := w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Running})
		w.refused(err, fika.Invalid)
		f := w.answer(c, "the answer")
		equal(w, "answer", f.Request.Outcome.Answer, "the answer")
		equal(w, "entry", f.Request.Outcome.Entry, f.Entries[0].ID)
		_, err = w.Finish(w.ctx, c.Fence, store.Finish{State: fika.RequestFailed})
		w.refused(err, fika.Lost)
		equal(w, "still", w.state(c.Request.ID, fika.Done).Outcome.Answer, "the answer")
	},
	"mentions in a final text notify": func(w *world) {
		a, b := w.lease("a"), w.lease("b")
		room := w.chat("room")
		root := w.post(room, "@a", "a").Entry
		f := w.answer(w.claim(a), "@b your turn", "b", "b", "a")
		equal(w, "notified", fmt.Sprint(f.Notified), "[b]")
		equal(w, "to", f.Entries[0].To, "room")
		c := w.claim(b)
		equal(w, "chain", c.Request.Chain, root.Chain)
		equal(w, "depth", c.Request.Depth, 1)
		equal(w, "participants", fmt.Sprint(must(w.Participants(w.ctx, room.ID))(w)), "[ann a b]")
	},
	"an agent that says nothing leaves no entry and calls nobody": func(w *world) {
		a := w.lease("a")
		w.lease("b")
		room := w.chat("room")
		w.post(room, "@a", "a")
		c := w.claim(a)
		f := must(w.Finish(w.ctx, c.Fence, store.Finish{
			State: fika.Done, Final: &store.ModelCommit{Round: 1, Usage: fika.Usage{Input: 5, Output: 1}, Model: "m"}, Notify: []fika.AgentName{"b"},
			Outcome: fika.Outcome{Stop: fika.Silent},
		}))(w)
		equal(w, "committed", fmt.Sprint(len(f.Entries), f.Notified), "0 []")
		equal(w, "entries", types(w.entries(room.ID)), "message")
		r := w.state(c.Request.ID, fika.Done)
		equal(w, "outcome", fmt.Sprintf("%q %q %d %d", r.Outcome.Stop, r.Outcome.Entry, r.Outcome.Seq, r.Outcome.Usage.Input), `"silent" "" 0 5`)
		equal(w, "steps", len(must(w.Steps(w.ctx, c.Request.ID))(w)), 1)
		equal(w, "open", w.pending(room.ID), 0)
		w.nothing(a)
		w.post(room, "@a again", "a")
		equal(w, "the next window", w.claim(a).Covers, 1)
	},
	"mentions outside a chat are text": func(w *world) {
		l := w.lease("coder")
		w.lease("other")
		equal(w, "notified", len(w.answer(w.begin(l, "x"), "@other", "other").Notified), 0)
		equal(w, "agents with work", len(must(w.WithWork(w.ctx))(w)), 0)
	},
	"a task's conversation is completed": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.TaskRequest, l.Agent, "x")
		c := w.claim(l)
		w.answer(c, "ok")
		equal(w, "status", must(w.ConversationByID(w.ctx, c.Conversation.ID))(w).Status, fika.Completed)
	},
	"no tool call stays without a result": func(w *world) {
		l := w.lease("coder")
		for _, end := range []fika.RequestState{fika.Done, fika.RequestFailed, fika.Cancelled, fika.StateInterrupted, fika.Dead} {
			c := w.begin(l, "x")
			steps := w.plan(c, 1, fika.Unsafe, fika.Pure)
			must(w.BeginTool(w.ctx, c.Fence, steps[0].N, "", ""))(w)
			w.fail(c, end)
			w.whole(c.Conversation.ID)
			for _, s := range must(w.Steps(w.ctx, c.Request.ID))(w)[1:] {
				equal(w, "step", s.State, fika.StepInterrupted)
			}
		}
		all := w.entries(must(w.ActiveAsk(w.ctx, l.Agent))(w).ID)
		equal(w, "order", types(all[:7]), "message message tool_call tool_call tool_result tool_result notice")
	},
	"notifications settle with the outcome": func(w *world) {
		l := w.lease("coder")
		for state, open := range map[fika.RequestState]int{
			fika.Done: 0, fika.Cancelled: 0, fika.RequestFailed: 0, fika.Dead: 0,
		} {
			room := w.chat(fika.ConversationName("room-" + string(state)))
			w.post(room, "x", "coder")
			w.fail(w.claim(l), state)
			equal(w, "open after "+string(state), w.pending(room.ID), open)
			kind := string(state)
			if state == fika.Done {
				kind = "refused" // the kind of a notice on an answer that stands
			}
			equal(w, "notices", w.notices(room.ID, kind), 1)
			w.nothing(l)
		}
	},
	"announced once": func(w *world) {
		l := w.lease("coder")
		w.answer(w.begin(l, "foreground"), "x")
		r := w.accept(fika.AskRequest, l.Agent, "x").Request
		equal(w, "before the end", len(must(w.Unannounced(w.ctx, l.Agent, 10))(w)), 0)
		w.answer(w.claim(l), "y")
		due := must(w.Unannounced(w.ctx, "", 10))(w)
		equal(w, "due", len(due), 1)
		equal(w, "which", due[0].ID, r.ID)
		w.ok(w.MarkAnnounced(w.ctx, r.ID))
		equal(w, "due", len(must(w.Unannounced(w.ctx, l.Agent, 10))(w)), 0)
	},
}

// spent compares the usage recorded for the only request with its outcome.
func (w *world) spent(r fika.Request, chat fika.ConversationName, models int) {
	w.Helper()
	var sum fika.Usage
	n := 0
	w.ok(w.SpendingSince(w.ctx, time.Time{}, func(p store.Spending) {
		equal(w, "spender", fmt.Sprint(p.Request, p.Agent, p.Chat, p.Workflow), fmt.Sprint(r.ID, "coder", chat, ""))
		equal(w, "quarter", !p.At.After(w.clock.Now()) && w.clock.Now().Sub(p.At) < 15*time.Minute, true)
		sum = sum.Add(p.Usage)
		n++
	}))
	equal(w, "spent", fmt.Sprint(n, sum), fmt.Sprint(models, r.Outcome.Usage))
	w.ok(w.SpendingSince(w.ctx, w.clock.Now().Add(time.Millisecond), func(p store.Spending) { w.Errorf("later: %+v", p) }))
}
