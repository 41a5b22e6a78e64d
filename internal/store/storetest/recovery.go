package storetest

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

func (w *world) recover(l store.Lease) store.Recovery {
	w.Helper()
	return must(w.Recover(w.ctx, l))(w)
}

var recoverTests = map[string]func(*world){
	"a queued turn continues under the new epoch": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "x")
		old := w.claim(l)
		n := w.plan(old, 1, fika.Unsafe)[0].N
		must(w.BeginTool(w.ctx, old.Fence, n, "", ""))(w)
		w.ok(w.RecordProcess(w.ctx, old.Fence, n, fika.Process{PID: 42}))
		l = w.lease("coder")
		rec := w.recover(l)
		equal(w, "claimed", len(rec.Claimed), 1)
		equal(w, "orphans", fmt.Sprint(len(rec.Orphans), rec.Orphans[0].Proc.PID), "1 42")
		c := rec.Claimed[0]
		equal(w, "same request", c.Request.ID, old.Request.ID)
		equal(w, "resumed", c.Resumed, true)
		equal(w, "prompt", c.Prompt.Content, "x")
		w.fenced(old.Fence, n)
		must(w.CommitTool(w.ctx, c.Fence, n, store.ToolCommit{Text: "interrupted", Interrupted: true}))(w)
		w.answer(c, "ok")
		w.whole(c.Conversation.ID)
		equal(w, "nothing left", len(w.recover(l).Claimed), 0)
	},
	"what runs and nobody works at is taken by the next look": func(w *world) {
		l := w.lease("coder")
		w.post(w.chat("room"), "x", "coder")
		old := w.claim(l)
		n := w.plan(old, 1, fika.Unsafe)[0].N
		must(w.BeginTool(w.ctx, old.Fence, n, "", ""))(w)
		w.accept(fika.AskRequest, l.Agent, "later")
		nobody := func(fika.RequestID) bool { return false }
		c := must(w.Claim(w.ctx, l, store.Limits{}, nobody))(w)
		equal(w, "request", c.Request.ID, old.Request.ID)
		equal(w, "resumed, attempts, orphans, covers", fmt.Sprint(c.Resumed, c.Request.Attempts, len(c.Orphans), c.Covers), "true 1 1 1")
		mine := func(id fika.RequestID) bool { return id == c.Request.ID }
		ask := must(w.Claim(w.ctx, l, store.Limits{}, mine))(w)
		equal(w, "kind", ask.Request.Kind, fika.AskRequest)
		both := func(id fika.RequestID) bool { return mine(id) || id == ask.Request.ID }
		equal(w, "nothing more", must(w.Claim(w.ctx, l, store.Limits{}, both))(w), nil)
		must(w.CommitTool(w.ctx, c.Fence, n, store.ToolCommit{Text: "interrupted", Interrupted: true}))(w)
		w.answer(*c, "ok")
		w.answer(*ask, "ok")
		equal(w, "done", must(w.Claim(w.ctx, l, store.Limits{}, nobody))(w), nil)
	},
	"what nobody ever works at is given up": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		for n := 2; n <= 3; n++ {
			again := must(w.Claim(w.ctx, l, store.Limits{}, func(fika.RequestID) bool { return false }))(w)
			equal(w, "attempts", again.Request.Attempts, n)
		}
		equal(w, "nothing", must(w.Claim(w.ctx, l, store.Limits{}, func(fika.RequestID) bool { return false }))(w), nil)
		w.state(c.Request.ID, fika.Dead)
	},
	"a foreground turn is interrupted and repaired": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		must(w.BeginTool(w.ctx, c.Fence, w.plan(c, 1, fika.Unsafe, fika.Pure)[0].N, "", ""))(w)
		l := w.lease("coder")
		rec := w.recover(l)
		equal(w, "interrupted", fmt.Sprint(rec.Interrupted), fmt.Sprint([]fika.RequestID{c.Request.ID}))
		equal(w, "orphans", len(rec.Orphans), 1)
		w.state(c.Request.ID, fika.StateInterrupted)
		w.whole(c.Conversation.ID)
		equal(w, "notices", w.notices(c.Conversation.ID, "interrupted"), 1)
		w.begin(l, "go on")
	},
	"a foreground turn that waits is interrupted too": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitPause, time.Time{}))
		equal(w, "interrupted", len(w.recover(w.lease("coder")).Interrupted), 1)
	},
	"waiting queued turns keep waiting": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitApproval, time.Time{}))
		l = w.lease("coder")
		equal(w, "claimed", len(w.recover(l).Claimed), 0)
		w.state(c.Request.ID, fika.Waiting)
	},
	"three starts without progress are enough": func(w *world) {
		room := w.chat("room")
		l := w.lease("coder")
		w.post(room, "x", "coder")
		c := w.claim(l)
		for start := 2; start <= 3; start++ {
			l = w.lease("coder")
			rec := w.recover(l)
			equal(w, "claimed", len(rec.Claimed), 1)
			equal(w, "attempts", rec.Claimed[0].Request.Attempts, start)
		}
		l = w.lease("coder")
		rec := w.recover(l)
		equal(w, "dead", fmt.Sprint(rec.Dead), fmt.Sprint([]fika.RequestID{c.Request.ID}))
		w.state(c.Request.ID, fika.Dead)
		equal(w, "notices", w.notices(room.ID, "dead"), 1)
		equal(w, "pending", w.pending(room.ID), 0)
		w.nothing(l)
	},
	"progress starts the count again": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		for round := range 6 {
			w.plan(c, round+1, fika.Pure)
			l = w.lease("coder")
			rec := w.recover(l)
			equal(w, "claimed", len(rec.Claimed), 1)
			c = rec.Claimed[0]
		}
	},
	"what was to be cancelled is cancelled": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		must(w.Cancel(w.ctx, c.Request.ID, "enough"))(w)
		w.state(c.Request.ID, fika.Running)
		equal(w, "claimed", len(w.recover(w.lease("coder")).Claimed), 0)
		equal(w, "reason", w.state(c.Request.ID, fika.Cancelled).Reason, "enough")
	},
}

var wishTests = map[string]func(*world){
	"cancel ends what nobody works at": func(w *world) {
		l := w.lease("coder")
		r := w.accept(fika.AskRequest, l.Agent, "x").Request
		equal(w, "state", must(w.Cancel(w.ctx, r.ID, ""))(w).State, fika.Cancelled)
		w.nothing(l)
		equal(w, "again", must(w.Cancel(w.ctx, r.ID, ""))(w).State, fika.Cancelled)
		w.accept(fika.AskRequest, l.Agent, "y")
		c := w.claim(l)
		w.plan(c, 1, fika.Pure)
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitApproval, time.Time{}))
		equal(w, "state", must(w.Cancel(w.ctx, c.Request.ID, ""))(w).State, fika.Cancelled)
		w.whole(c.Conversation.ID)
		_, err := w.Cancel(w.ctx, "none", "")
		w.refused(err, fika.NotFound)
	},
	"cancel of a parent cancels its children": func(w *world) {
		l, other := w.lease("coder"), w.lease("other")
		p := w.begin(l, "x")
		child := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: other.Agent, Parent: p.Request.ID}))(w).Request
		w.ok(w.Suspend(w.ctx, p.Fence, fika.WaitChild, time.Time{}))
		must(w.Cancel(w.ctx, p.Request.ID, ""))(w)
		w.state(child.ID, fika.Cancelled)
		w.nothing(other)
	},
	"expire": func(w *world) {
		l := w.lease("coder")
		soon := w.clock.Now().Add(time.Minute)
		open := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: l.Agent, Deadline: soon}))(w).Request
		run := must(w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest, Deadline: soon}))(w)
		w.accept(fika.TaskRequest, l.Agent, "no deadline")
		equal(w, "early", len(must(w.Expire(w.ctx))(w)), 0)
		w.clock.Advance(time.Minute)
		equal(w, "due", len(must(w.Expire(w.ctx))(w)), 2)
		equal(w, "again", len(must(w.Expire(w.ctx))(w)), 0)
		equal(w, "reason", w.state(open.ID, fika.Cancelled).Reason, "deadline")
		equal(w, "signal", must(w.Signal(w.ctx, run.Fence))(w).Reason, "deadline")
	},
	"retry of a chat turn takes over what died": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		w.post(room, "x", "coder")
		old := w.claim(l)
		w.fail(old, fika.RequestFailed)
		r := must(w.Retry(w.ctx, old.Request.ID))(w)
		equal(w, "retry of", r.RetryOf, old.Request.ID)
		_, err := w.Retry(w.ctx, old.Request.ID)
		w.refused(err, fika.Conflict)
		equal(w, "open", w.pending(room.ID), 1)
		c := w.claim(l)
		equal(w, "request", c.Request.ID, r.ID)
		equal(w, "covers", c.Covers, 1)
		w.answer(c, "ok")
		equal(w, "open", w.pending(room.ID), 0)
		w.nothing(l)
		_, err = w.Retry(w.ctx, r.ID)
		w.refused(err, fika.Conflict)
	},
	"retry of a task continues where it stood": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.TaskRequest, l.Agent, "x")
		old := w.claim(l)
		_, err := w.Retry(w.ctx, old.Request.ID)
		w.refused(err, fika.Conflict)
		w.fail(old, fika.RequestFailed)
		must(w.Retry(w.ctx, old.Request.ID))(w)
		c := w.claim(l)
		equal(w, "conversation", c.Conversation.ID, old.Conversation.ID)
		w.answer(c, "ok")
		equal(w, "entries", types(w.entries(c.Conversation.ID)), "message notice message")
		w.state(old.Request.ID, fika.RequestFailed)
		_, err = w.Retry(w.ctx, old.Request.ID) // a caller who missed the first answer repeats the call
		w.refused(err, fika.Conflict)
	},
	"retry of what never began brings the prompt": func(w *world) {
		l := w.lease("coder")
		r := w.accept(fika.AskRequest, l.Agent, "x").Request
		must(w.Cancel(w.ctx, r.ID, ""))(w)
		must(w.Retry(w.ctx, r.ID))(w)
		equal(w, "prompt", w.claim(l).Prompt.Content, "x")
	},
	"park keeps anything": func(w *world) {
		w.ok(w.ParkMessage(w.ctx, "fika.agent.x.request", []byte{0, 255}, "not JSON"))
		w.ok(w.ParkMessage(w.ctx, "", nil, ""))
	},
}

var brakeTests = map[string]func(*world){
	"stop drops and cancels": func(w *world) {
		a, b := w.lease("a"), w.lease("b")
		room := w.chat("room")
		w.post(room, "x", "a", "b")
		c := w.claim(a)
		d := must(w.StopChat(w.ctx, room.ID, ""))(w)
		equal(w, "dropped", d.Notifications, 1)
		equal(w, "requests", fmt.Sprint(d.Requests), fmt.Sprint([]fika.RequestID{c.Request.ID}))
		equal(w, "signal", must(w.Signal(w.ctx, c.Fence))(w).Cancel, true)
		w.fail(c, fika.Cancelled)
		w.nothing(a)
		w.nothing(b)
		_, err := w.StopChat(w.ctx, "none", "")
		w.refused(err, fika.NotFound)
	},
	"what is stopped says who stopped it": func(w *world) {
		a, b := w.lease("a"), w.lease("b")
		room := w.chat("room")
		first := w.post(room, "x", "a").Entry.ID
		c := w.claim(a)
		w.post(room, "y", "a", "b")
		last := w.post(room, "z", "a").Entry.ID
		must(w.StopChat(w.ctx, room.ID, store.InterruptedBy+"ann: no more"))(w)
		equal(w, "reason", must(w.Signal(w.ctx, c.Fence))(w).Reason, "interrupted by ann: no more")
		must(w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Cancelled, Reason: "interrupted by ann: no more", Partial: "I was"}))(w)
		w.nothing(a)
		w.nothing(b)
		all := must(w.Entries(w.ctx, store.EntryQuery{Conversation: room.ID, Since: 3}))(w)
		var said []string
		for _, e := range all {
			said = append(said, fmt.Sprintf("%s %s %q %q", e.Type, e.Meta.WriterName, e.Content, e.ReplyTo))
		}
		equal(w, "said", strings.Join(said, "\n"), strings.Join([]string{
			fmt.Sprintf("notice a %q %q", "2 messages for @a dropped: interrupted by ann", last),
			fmt.Sprintf("notice b %q %q", "a message for @b dropped: interrupted by ann", must(w.Entries(w.ctx, store.EntryQuery{Conversation: room.ID, Since: 1, First: 1}))(w)[0].ID),
			fmt.Sprintf("message a %q %q", "I was", ""),
			fmt.Sprintf("notice a %q %q", "@a was interrupted by ann", first),
		}, "\n"))
	},
	"a paused chat keeps what a running turn says": func(w *world) {
		a, b := w.lease("a"), w.lease("b")
		room := w.chat("room")
		w.post(room, "x", "a")
		c := w.claim(a)
		must(w.SetPaused(w.ctx, room.ID, true))(w)
		w.answer(c, "@b", "b")
		w.nothing(b)
		must(w.SetPaused(w.ctx, room.ID, false))(w)
		w.claim(b)
	},
	"unknown conversations": func(w *world) {
		_, err := w.SetPaused(w.ctx, "none", true)
		w.refused(err, fika.NotFound)
		_, err = w.ContinueChain(w.ctx, "none")
		w.refused(err, fika.NotFound)
	},
}
