package storetest

import (
	"fmt"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
)

// held reports whether a conversation is paused.
func (w *world) held(c fika.Conversation) bool {
	w.Helper()
	return must(w.ConversationByID(w.ctx, c.ID))(w).Paused
}

func (w *world) hold(c fika.Conversation, owner string) bool {
	w.Helper()
	return must(w.LeasePause(w.ctx, c.ID, owner, time.Minute))(w)
}

var holdTests = map[string]func(*world){
	"a hold lasts until it is let go": func(w *world) {
		l := w.lease("coder")
		room := w.chat("room")
		equal(w, "first", w.hold(room, "ann"), true)
		w.post(room, "1", "coder")
		w.nothing(l)
		equal(w, "second", w.hold(room, "bob"), false)
		equal(w, "rung", len(must(w.ReleasePause(w.ctx, room.ID, "ann"))(w)), 0)
		equal(w, "still held", w.held(room), true)
		equal(w, "rung", fmt.Sprint(must(w.ReleasePause(w.ctx, room.ID, "bob"))(w)), "[coder]")
		equal(w, "held", w.held(room), false)
		equal(w, "again", len(must(w.ReleasePause(w.ctx, room.ID, "bob"))(w)), 0)
		w.claim(l)
	},
	"a hold does not lift a pause, a resume lifts a hold": func(w *world) {
		room := w.chat("room")
		must(w.SetPaused(w.ctx, room.ID, true))(w)
		equal(w, "first", w.hold(room, "ann"), false)
		must(w.ReleasePause(w.ctx, room.ID, "ann"))(w)
		equal(w, "paused", w.held(room), true)
		w.hold(room, "ann")
		a := must(w.Activity(w.ctx, store.ActivityQuery{Conversation: room.ID}))(w)
		equal(w, "brakes", fmt.Sprintf("%d %s", len(a.Pauses), a.Pauses[1].Owner), "2 ann")
		must(w.SetPaused(w.ctx, room.ID, false))(w)
		equal(w, "paused", w.held(room), false)
		w.refused(w.RenewPause(w.ctx, room.ID, "ann", time.Minute), fika.Lost)
		must(w.SetPaused(w.ctx, room.ID, true))(w)
		must(w.ReleasePause(w.ctx, room.ID, "ann"))(w)
		equal(w, "paused anew", w.held(room), true)
	},
	"a hold that nobody keeps is lifted, with a notice": func(w *world) {
		l := w.lease("coder")
		room, other := w.chat("room"), w.chat("other")
		w.hold(room, "ann")
		w.hold(other, "ann")
		w.post(room, "1", "coder")
		equal(w, "early", len(must(w.ResumeLapsed(w.ctx))(w)), 0)
		w.clock.Advance(50 * time.Second)
		w.ok(w.RenewPause(w.ctx, other.ID, "ann", time.Minute))
		w.clock.Advance(20 * time.Second)
		lifted := must(w.ResumeLapsed(w.ctx))(w)
		equal(w, "lifted", len(lifted), 1)
		equal(w, "chat", lifted[0].Conversation.Name, "room")
		equal(w, "rung", fmt.Sprint(lifted[0].Woken), "[coder]")
		equal(w, "notice", w.notices(room.ID, "resumed"), 1)
		equal(w, "again", len(must(w.ResumeLapsed(w.ctx))(w)), 0)
		w.refused(w.RenewPause(w.ctx, room.ID, "ann", time.Minute), fika.Lost)
		equal(w, "the other", w.held(other), true)
		w.claim(l)
	},
	"a hold of two ends with the last": func(w *world) {
		room := w.chat("room")
		w.hold(room, "ann")
		w.clock.Advance(30 * time.Second)
		w.hold(room, "bob")
		w.clock.Advance(40 * time.Second)
		equal(w, "lifted", len(must(w.ResumeLapsed(w.ctx))(w)), 1)
		equal(w, "held", w.held(room), true)
		w.ok(w.DeleteConversation(w.ctx, room.ID))
		w.clock.Advance(time.Hour)
		equal(w, "lifted", len(must(w.ResumeLapsed(w.ctx))(w)), 0)
	},
	"who holds what": func(w *world) {
		room := w.chat("room")
		_, err := w.LeasePause(w.ctx, room.ID, "", time.Minute)
		w.refused(err, fika.Invalid)
		_, err = w.LeasePause(w.ctx, room.ID, "ann", 0)
		w.refused(err, fika.Invalid)
		_, err = w.LeasePause(w.ctx, "none", "ann", time.Minute)
		w.refused(err, fika.NotFound)
	},
	"a pause wins over a turn that is just being claimed": func(w *world) {
		l := w.lease("coder")
		for i := range 20 {
			room := w.chat(fika.ConversationName(fmt.Sprint("room", i)))
			w.post(room, "1", "coder")
			var c *store.Claimed
			var err error
			var both sync.WaitGroup
			both.Go(func() { c, err = w.Claim(w.ctx, l, w.limits, nil) })
			both.Go(func() { _, _ = w.SetPaused(w.ctx, room.ID, true) })
			both.Wait()
			w.ok(err)
			if c == nil { // the pause came first: nothing begins
				w.nothing(l)
				equal(w, "rung", len(must(w.SetPaused(w.ctx, room.ID, false))(w)), 1)
				got := w.claim(l)
				c = &got
			} else { // the turn came first: it sees the pause before its first step
				equal(w, "paused", must(w.Signal(w.ctx, c.Fence))(w).Paused, true)
				w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitPause, time.Time{}))
				w.nothing(l)
				equal(w, "rung", fmt.Sprint(must(w.SetPaused(w.ctx, room.ID, false))(w)), "[coder]")
				got := w.claim(l)
				equal(w, "the same", got.Request.ID, c.Request.ID)
				c = &got
			}
			w.answer(*c, "ok")
		}
	},
	"a person joins": func(w *world) {
		room := w.chat("room")
		for range 2 {
			w.ok(w.Join(w.ctx, room.ID, "ann"))
		}
		equal(w, "in", fmt.Sprint(must(w.Participants(w.ctx, room.ID))(w)), "[ann]")
		w.refused(w.Join(w.ctx, room.ID, ""), fika.Invalid)
		w.refused(w.Join(w.ctx, "none", "ann"), fika.NotFound)
	},
}
