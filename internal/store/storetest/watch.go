package storetest

import (
	"fmt"
	"time"

	"fika"
	"fika/internal/store"
)

// activity returns the work under way in short form: requests by agent and state,
// notifications by seq, agent and state.
func (w *world) activity(c fika.ConversationID) (requests, notes string) {
	w.Helper()
	a := must(w.Activity(w.ctx, store.ActivityQuery{Conversation: c, DroppedSince: w.clock.Now().Add(-time.Hour)}))(w)
	for _, r := range a.Requests {
		requests += fmt.Sprintf("%s %s, ", r.AgentName, r.State)
	}
	for _, n := range a.Notifications {
		notes += fmt.Sprintf("%d %s %s, ", n.Seq, n.AgentName, n.State)
	}
	return requests, notes
}

var watchTests = map[string]func(*world){
	"what continues": func(w *world) {
		room, other := w.chat("room"), w.chat("other")
		coder, helper := w.lease("coder"), w.lease("helper")
		w.post(room, "1", "coder", "helper")
		c := w.claim(coder)
		w.plan(c, 1, fika.Unsafe)
		must(w.BeginTool(w.ctx, c.Fence, 2, "", ""))(w)
		w.post(other, "1", "helper")
		w.fail(w.claim(helper), fika.RequestFailed)
		requests, notes := w.activity(room.ID)
		equal(w, "requests", requests, "coder running, ")
		equal(w, "notifications", notes, "1 coder claimed, 1 helper dead, ")
		requests, notes = w.activity("")
		equal(w, "requests", requests, "coder running, ")
		equal(w, "notifications", notes, "1 coder claimed, 1 helper dead, 1 helper pending, ")
		must(w.StopChat(w.ctx, other.ID, ""))(w)
		_, notes = w.activity(other.ID)
		equal(w, "notifications", notes, "1 helper dropped, ")
		w.clock.Advance(2 * time.Hour)
		_, notes = w.activity(other.ID)
		equal(w, "notifications", notes, "")
		a := must(w.Activity(w.ctx, store.ActivityQuery{Conversation: room.ID}))(w)
		equal(w, "tool", a.Requests[0].Tool, "read")
		equal(w, "calls", a.Requests[0].Calls, 1)
		equal(w, "paused", a.PausedAll, false)
		equal(w, "conversation", a.Conversations[0].Name, "room")
	},
	"a waiting request tells for what": func(w *world) {
		l, other := w.lease("coder"), w.lease("other")
		parent := w.begin(l, "x")
		child := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: other.Agent, Parent: parent.Request.ID}))(w).Request
		until := w.clock.Now().Add(time.Minute).Truncate(time.Millisecond).UTC()
		w.ok(w.Suspend(w.ctx, parent.Fence, fika.WaitChild, until))
		a := must(w.Activity(w.ctx, store.ActivityQuery{Conversation: parent.Conversation.ID}))(w)
		equal(w, "requests", len(a.Requests), 1)
		equal(w, "child", a.Requests[0].Child, child.ID)
		equal(w, "until", a.Requests[0].WaitUntil, until)
		equal(w, "reason", a.Requests[0].Reason, "child")
	},
	"what a limit dropped is told until it is continued": func(w *world) {
		w.limits = store.Limits{MaxTurns: 1}
		room := w.chat("room")
		w.pingPong(room)
		w.clock.Advance(100 * time.Hour)
		_, notes := w.activity(room.ID)
		equal(w, "notifications", notes, "2 b dropped, ")
		must(w.ContinueChain(w.ctx, room.ID))(w)
		_, notes = w.activity(room.ID)
		equal(w, "notifications", notes, "2 b pending, ")
	},
	"notifications of a message, an agent, a request": func(w *world) {
		room := w.chat("room")
		l := w.lease("coder")
		w.post(room, "1", "coder")
		p := w.post(room, "2", "coder")
		w.agent("helper")
		w.post(room, "3", "helper")
		c := w.claim(l)
		list := must(w.Notifications(w.ctx, store.NotificationFilter{Request: c.Request.ID}))(w)
		equal(w, "of the request", len(list), 2)
		equal(w, "first", list[0].Seq, 1)
		list = must(w.Notifications(w.ctx, store.NotificationFilter{Conversation: room.ID, Seq: p.Entry.Seq, Agent: l.Agent}))(w)
		equal(w, "of the message", len(list), 1)
		equal(w, "state", list[0].State, fika.NotificationClaimed)
		equal(w, "agent", list[0].AgentName, "coder")
		_, err := w.Notifications(w.ctx, store.NotificationFilter{})
		w.refused(err, fika.Invalid)
	},
	"an entry by its seq": func(w *world) {
		room := w.chat("room")
		p := w.post(room, "1")
		equal(w, "id", must(w.EntryBySeq(w.ctx, room.ID, 1))(w).ID, p.Entry.ID)
		_, err := w.EntryBySeq(w.ctx, room.ID, 2)
		w.refused(err, fika.NotFound)
	},
	"pin": func(w *world) {
		room := w.chat("room")
		w.post(room, "1")
		equal(w, "pinned", must(w.Pin(w.ctx, room.ID, 1, true))(w).Pinned, true)
		equal(w, "stored", w.entries(room.ID)[0].Pinned, true)
		equal(w, "unpinned", must(w.Pin(w.ctx, room.ID, 1, false))(w).Pinned, false)
		_, err := w.Pin(w.ctx, room.ID, 2, true)
		w.refused(err, fika.NotFound)
		l := w.lease("coder")
		w.post(room, "2", "coder")
		w.plan(w.claim(l), 1, fika.Pure)
		_, err = w.Pin(w.ctx, room.ID, 4, true)
		w.refused(err, fika.Invalid)
	},
}
