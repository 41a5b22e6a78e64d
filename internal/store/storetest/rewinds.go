package storetest

import (
	"fmt"
	"math"

	"fika"
	"fika/internal/store"
)

// frame returns where the compaction of a frame is, and its cuts.
func (w *world) frame(c fika.Conversation) string {
	w.Helper()
	f := must(w.Frame(w.ctx, c.ID, "", math.MaxInt64))(w)
	at := int64(0)
	if f.Compaction != nil {
		at = f.Compaction.Seq
	}
	return fmt.Sprint(at, f.Cuts)
}

// compactAll appends a compaction of all that a chat holds.
func (w *world) compactAll(c fika.Conversation) {
	w.Helper()
	must(w.AppendCompaction(w.ctx, c.ID, "ann", "", fika.EntryMeta{UpTo: w.lastEntry(c.ID).Seq, Summary: "so far"}))(w)
}

var rewindTests = map[string]func(*world){
	"a rewind takes out what followed, and is taken back": func(w *world) {
		coder, room := w.lease("coder"), w.chat("room")
		w.post(room, "one", "coder")
		w.answer(w.claim(coder), "1")
		w.compactAll(room) // #3
		w.post(room, "two", "coder")
		c := w.claim(coder)
		w.answer(c, "2")
		w.compactAll(room) // #6
		before := len(w.entries(room.ID))
		equal(w, "before", w.frame(room), "6 []")
		r := must(w.Rewind(w.ctx, room.ID, 4, false, "ann", ""))(w)
		equal(w, "entry", fmt.Sprintln(r.Entry.Type, r.Entry.Seq, r.Entry.Meta.Cut, r.Entry.Content), "rewind 7 {4 6} went back to before #4: two\n")
		equal(w, "nothing is deleted", len(w.entries(room.ID)), before+1)
		equal(w, "the compaction before holds again", w.frame(room), "3 [{4 6}]")
		spans, cut, err := w.WindowSpans(w.ctx, room.ID, "")
		w.ok(err)
		equal(w, "spans", fmt.Sprint(spans, cut.Seq), fmt.Sprint([]store.Span{{Since: 2, Upto: 3}, {Since: 6, Upto: math.MaxInt64}}, " 3"))
		equal(w, "caused", fmt.Sprint(must(w.CausedIn(w.ctx, room.ID, r.Entry.Meta.Cut))(w)), fmt.Sprint([]fika.RequestID{c.Request.ID}))
		for _, bad := range []struct {
			seq  int64
			kind fika.Kind
		}{{4, fika.Invalid}, {2, fika.Invalid}, {7, fika.Invalid}, {99, fika.NotFound}, {0, fika.NotFound}} {
			_, err := w.Rewind(w.ctx, room.ID, bad.seq, false, "ann", "")
			w.refused(err, bad.kind)
		}
		w.post(room, "other two", "coder") // #8
		w.answer(w.claim(coder), "2b")
		must(w.Rewind(w.ctx, room.ID, 1, false, "ann", ""))(w)
		equal(w, "a rewind over a rewind", w.frame(room), "0 [{1 9}]")
		must(w.Rewind(w.ctx, room.ID, 0, true, "ann", ""))(w)
		equal(w, "taken back", w.frame(room), "3 [{4 6}]")
		must(w.Rewind(w.ctx, room.ID, 0, true, "ann", ""))(w)
		equal(w, "and the one before", w.frame(room), "6 []")
		_, err = w.Rewind(w.ctx, room.ID, 0, true, "ann", "")
		w.refused(err, fika.NotFound)
		equal(w, "in order", len(must(w.Rewinds(w.ctx, room.ID))(w)), 4)
		w.whole(room.ID)
	},
	"a rewind is made at rest": func(w *world) {
		coder, helper, room := w.lease("coder"), w.lease("helper"), w.chat("room")
		w.post(room, "go", "coder")
		c := w.claim(coder)
		w.post(room, "and you", "helper")
		_, err := w.Rewind(w.ctx, room.ID, 1, false, "ann", "")
		w.refused(err, fika.Conflict)
		equal(w, "nothing was dropped", w.frame(room), "0 []")
		w.fail(c, fika.Cancelled)
		r := must(w.Rewind(w.ctx, room.ID, 1, false, "ann", ""))(w)
		equal(w, "dropped", r.Notifications, 1)
		w.nothing(helper)
		w.nothing(coder)
		ask := must(w.AskConversations(w.ctx, w.accept(fika.AskRequest, coder.Agent, "x").Request.Agent))(w)
		if len(ask) > 0 {
			_, err = w.Rewind(w.ctx, ask[0].ID, 1, false, "ann", "")
			w.refused(err, fika.Invalid)
		}
	},
	"a request that waits is ended by a rewind": func(w *world) {
		coder, room := w.lease("coder"), w.chat("room")
		w.post(room, "go", "coder")
		c := w.claim(coder)
		must(w.AskApproval(w.ctx, c.Fence, []store.Approval{{Step: w.plan(c, 1, fika.Unsafe)[0].N}}, w.clock.Now().Add(1e12)))(w)
		r := must(w.Rewind(w.ctx, room.ID, 1, false, "ann", ""))(w)
		equal(w, "ended", len(r.Requests), 1)
		w.state(c.Request.ID, fika.Cancelled)
		equal(w, "what it says is out, too", r.Entry.Meta.Cut.To, r.Entry.Seq-1)
		w.nothing(coder)
		w.whole(room.ID)
	},
}
