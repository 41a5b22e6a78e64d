package storetest

import (
	"strings"

	"fika"
	"fika/internal/store"
)

// taskStands returns where a task stands, and why it is held.
func (w *world) taskStands(n fika.TaskNumber) string {
	w.Helper()
	t := must(w.Task(w.ctx, n))(w)
	return strings.TrimSpace(spaced(t.State, t.HeldReason))
}

var taskOfferTests = map[string]func(*world){
	"a task is done when what was offered of it has landed": func(w *world) {
		l, takes := w.taker("coder")
		w.tasks("one", "two")
		c := w.take(l, takes)
		equal(w, "offered", must(w.submit(c, "a", ""))(w).Task, 1)
		w.answer(c, "built")
		equal(w, "in review", w.taskStands(1), "review")
		w.takesNothing("what needs it", l, takes)
		from := w.now()
		w.tried(1, fika.OfferMoving)
		w.tried(1, fika.OfferLanded)
		equal(w, "told", lines(w.since(from)), "offer 1 moving, task 1 done, offer 1 landed")
		equal(w, "landed", spaced(w.taskStands(1), "|", must(w.Task(w.ctx, 1))(w).Result), "done | built")
		equal(w, "log", strings.Contains(w.taskLog(1), "landed"), true)

		c = w.take(l, takes)
		equal(w, "the next has an offer of its own", spaced(must(w.submit(c, "b", ""))(w).Number, must(w.LandedTips(w.ctx, fika.Offer{Task: 2, Into: "main"}))(w)), "2 []")
		w.tried(2, fika.OfferLanded)
		equal(w, "still worked", w.taskStands(2), "claimed")
		w.answer(c, "built")
		equal(w, "had landed before", w.taskStands(2), "done")
		equal(w, "tips", spaced(must(w.LandedTips(w.ctx, fika.Offer{Task: 1, Into: "main"}))(w)), "[a]")
	},
	"an offer that comes back keeps its task in review": func(w *world) {
		l, takes := w.taker("coder")
		w.tasks("one")
		c := w.take(l, takes)
		must(w.submit(c, "a", ""))(w)
		w.answer(c, "built")
		w.added(store.NewTask{Title: "other"})
		stands := func() store.TaskOffer {
			w.Helper()
			return must(w.Cards(w.ctx, store.TaskFilter{States: []fika.TaskState{fika.TaskReview}}))(w)[0].Offer
		}
		equal(w, "its card", stands(), store.TaskOffer{Number: 1, State: fika.OfferWaiting})
		o := w.back(1)
		equal(w, "its card", stands(), store.TaskOffer{Number: 1, State: fika.OfferRework, Reason: o.Reason})
		again := w.reworked(l, o)
		equal(w, "the same task", again.Request.Task, 1)
		w.takesNothing("at most one task at once", l, takes)
		must(w.ReportTask(w.ctx, 1, store.TaskReport{Note: "nearly", By: "@coder", Agent: "coder", Request: again.Request.ID}))(w)
		equal(w, "continues", must(w.submit(again, "b", ""))(w).Number, 1)
		w.answer(again, "once more")
		equal(w, "in review", w.taskStands(1), "review")
		w.tried(1, fika.OfferLanded)
		equal(w, "landed", w.taskStands(1), "done")
	},
	"a task waits for a person if its offer will not land": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "one"})
		c := w.take(l, takes)
		must(w.submit(c, "a", ""))(w)
		w.answer(c, "built")
		must(w.ChangeOffer(w.ctx, 1, func(o *fika.Offer) error { o.State, o.Reason = fika.OfferCancelled, "not so"; return nil }))(w)
		equal(w, "cancelled", w.taskStands(1), "held offer 1 is cancelled: not so")
		must(w.ChangeOffer(w.ctx, 1, func(o *fika.Offer) error { o.State, o.Reason = fika.OfferWaiting, ""; return nil }))(w)
		w.tried(1, fika.OfferLanded)
		equal(w, "tried again", w.taskStands(1), "done")
		w.added(store.NewTask{Title: "two"})
		c = w.take(l, takes)
		must(w.submit(c, "b", ""))(w)
		w.tried(2, fika.OfferRefused)
		w.answer(c, "built")
		equal(w, "refused before the turn ended", w.taskStands(2), "held offer 2 is refused")
	},
	"work that was offered is handed in, even if the turn fails after it": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "one"})
		w.added(store.NewTask{Title: "two"})
		c := w.take(l, takes)
		must(w.submit(c, "a", ""))(w)
		w.fail(c, fika.RequestFailed)
		equal(w, "failed", w.taskStands(1), "review")
		c = w.take(l, takes)
		must(w.submit(c, "b", ""))(w)
		w.fail(c, fika.Cancelled)
		equal(w, "cancelled by a person", w.taskStands(2), "held test")
	},
	"a task that is taken back takes its offer along": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "one"})
		c := w.take(l, takes)
		must(w.submit(c, "a", ""))(w)
		w.answer(c, "built")
		o := w.back(1)
		must(w.ReleaseTask(w.ctx, 1, "ann", "another way"))(w)
		equal(w, "open", spaced(w.taskStands(1), "|", must(w.Offer(w.ctx, 1))(w).Stands()), "open | offer 1 is cancelled: task 1 was taken back by ann")
		equal(w, "rework ends", must(w.Request(w.ctx, o.Rework))(w).State, fika.Cancelled)
		c = w.take(l, takes)
		equal(w, "a new offer", must(w.submit(c, "b", ""))(w).Number, 2)
		w.answer(c, "built")
		w.tried(2, fika.OfferMoving)
		must(w.CloseTask(w.ctx, 1, fika.TaskDone, "ann", ""))(w)
		equal(w, "about to land", spaced(w.taskStands(1), "|", must(w.Offer(w.ctx, 2))(w).State), "done | moving")
	},
}
