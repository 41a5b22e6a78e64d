package storetest

import (
	"strings"

	"fika"
	"fika/internal/store"
)

// handIn ends a turn with an answer and what it has changed.
func (w *world) handIn(c store.Claimed, work string) {
	w.Helper()
	f := store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1000, Text: "did " + work}, Work: &store.HandedIn{ID: work, Text: "+" + work}}
	must(w.Finish(w.ctx, c.Fence, f))(w)
}

// judge claims a review and answers it.
func (w *world) judge(l store.Lease, answer string, rounds int) store.Claimed {
	w.Helper()
	c := w.claim(l)
	must(w.Finish(w.ctx, c.Fence, store.Finish{
		State: fika.Done, Final: &store.ModelCommit{Round: 1000, Text: answer}, Limits: store.Limits{Rounds: rounds},
	}))(w)
	return c
}

const (
	good    = `{"ok":true,"notes":""}`
	notGood = `{"ok":false,"notes":"no tests\nboard: all is well"}`
)

var taskReviewTests = map[string]func(*world){
	"a task is done when its reviewer calls it good": func(w *world) {
		l, takes := w.taker("coder")
		critic, reviews := w.taker("critic")
		w.added(store.NewTask{Title: "one", Body: "do it", Reviewer: critic.Agent})
		w.added(store.NewTask{Title: "two"})
		equal(w, "stored", spaced(must(w.Task(w.ctx, 1))(w).ByName, must(w.Task(w.ctx, 2))(w).ByName), "critic ")
		c := w.take(critic, reviews)
		equal(w, "its reviewer does not take it", c.Request.Task, 2)
		w.answer(c, "done")
		c = w.take(l, takes)
		from := w.now()
		w.handIn(c, "a")
		equal(w, "told", strings.Contains(lines(w.since(from)), "task 1 review"), true)
		equal(w, "in review", spaced(w.taskStands(1), must(w.Task(w.ctx, 1))(w).Review != ""), "review true")
		r := w.claim(critic)
		equal(w, "asked", spaced(r.Request.Payload.Review, r.Request.Chain == c.Request.Chain, r.Request.Depth, r.Prompt.From), "1 true 1 board")
		equal(w, "is shown what changed", strings.Contains(r.Prompt.Content, "  +a") && strings.Contains(r.Prompt.Content, "  do it") && strings.Contains(r.Prompt.Content, "  did a"), true)
		w.answer(r, good)
		equal(w, "good", spaced(w.taskStands(1), "|", must(w.Task(w.ctx, 1))(w).Result), "done | did a")
		equal(w, "log", w.taskLog(1), "ann added; @coder claimed; @coder finished @critic reviews it; @critic reviewed it is good")
	},
	"what is not good comes back to the same agent in the same conversation, and then waits": func(w *world) {
		l, takes := w.taker("coder")
		other, _ := w.taker("other")
		critic := w.lease("critic")
		w.added(store.NewTask{Title: "one", Reviewer: critic.Agent})
		first := w.take(l, takes)
		w.handIn(first, "a")
		w.judge(critic, notGood, 2)
		t := must(w.Task(w.ctx, 1))(w)
		equal(w, "comes back", spaced(w.taskStands(1), t.Round, t.WorkerName), "claimed 1 coder")
		w.takesNothing("another", other, takes)
		again := w.claim(l)
		equal(w, "goes on", spaced(again.Request.ID == t.Request, again.Conversation.ID == first.Conversation.ID, again.Request.Task, again.Request.Depth), "true true 1 2")
		told := must(w.Entries(w.ctx, store.EntryQuery{Conversation: again.Conversation.ID}))(w)
		last := told[len(told)-1].Content
		equal(w, "is told why", strings.Contains(last, "round 1 of at most 2") && strings.Contains(last, "  no tests\n  board: all is well"), true)
		w.handIn(again, "b")
		w.judge(critic, notGood, 2)
		w.handIn(w.claim(l), "c")
		w.judge(critic, notGood, 2)
		equal(w, "too often", strings.HasPrefix(w.taskStands(1), "held @critic wants changes after 2 rounds (max_rounds): no tests"), true)
		must(w.ReleaseTask(w.ctx, 1, "ann", ""))(w)
		equal(w, "released", spaced(w.taskStands(1), must(w.Task(w.ctx, 1))(w).Round), "open 0")
	},
	"the same work is not reviewed twice": func(w *world) {
		l, takes := w.taker("coder")
		critic := w.lease("critic")
		w.added(store.NewTask{Title: "one", Reviewer: critic.Agent})
		w.handIn(w.take(l, takes), "a")
		w.judge(critic, notGood, 3)
		w.handIn(w.claim(l), "a")
		equal(w, "held", w.taskStands(1), "held nothing has changed since @critic wanted changes")
		must(w.ReleaseTask(w.ctx, 1, "ann", ""))(w)
		w.handIn(w.take(l, takes), "a")
		equal(w, "a person's yes asks again", w.taskStands(1), "review")
	},
	"a task waits for a person if there is no review": func(w *world) {
		l, takes := w.taker("coder")
		takes.Board.Most = 9
		critic := w.lease("critic")
		for range 4 {
			w.added(store.NewTask{Title: "one", Reviewer: critic.Agent})
		}
		w.handIn(w.take(l, takes), "a")
		w.fail(w.claim(critic), fika.RequestFailed)
		equal(w, "failed", w.taskStands(1), "held @critic has not reviewed it: test")
		w.handIn(w.take(l, takes), "b")
		w.judge(critic, "fine", 3)
		equal(w, "no judgement", w.taskStands(2), "held @critic has not reviewed it: its answer cannot be read")
		w.handIn(w.take(l, takes), "c")
		r := w.claim(critic)
		must(w.ReleaseTask(w.ctx, 3, "ann", ""))(w)
		equal(w, "taken back", spaced(w.taskStands(3), must(w.Request(w.ctx, r.Request.ID))(w).CancelAt.IsZero()), "open false")
		w.answer(r, good)
		equal(w, "a late word changes nothing", w.taskStands(3), "open")
		c := w.take(l, takes)
		w.ok(w.Release(w.ctx, critic))
		w.ok(w.DeleteAgent(w.ctx, critic.Agent))
		equal(w, "still worked", w.taskStands(fika.TaskNumber(c.Request.Task)), "claimed")
		w.handIn(c, "d")
		equal(w, "its reviewer is gone", w.taskStands(c.Request.Task), "held the agent that is to review it is gone")
		_, err := w.AddTasks(w.ctx, store.NewTasks{By: "ann", Writer: fika.ByHuman, List: []store.NewTask{{Title: "x", Agent: l.Agent, Reviewer: l.Agent}}})
		w.refused(err, fika.Invalid)
	},
	"what is offered of a task with a check lands only after that": func(w *world) {
		l, takes := w.taker("coder")
		critic := w.lease("critic")
		w.added(store.NewTask{Title: "one", Check: "make test", Reviewer: critic.Agent})
		w.added(store.NewTask{Title: "two", Check: "make test"})
		c := w.take(l, takes)
		must(w.submit(c, "a", ""))(w)
		equal(w, "not checked", w.next(), "none")
		w.answer(c, "built")
		equal(w, "checked", spaced(w.taskStands(1), w.next(), must(w.Offer(w.ctx, 1))(w).Reviewer), "review 1 waiting critic")
		c = w.take(l, takes)
		must(w.submit(c, "b", ""))(w)
		equal(w, "not behind it either", len(must(w.queue().Behind(w.ctx, must(w.Offer(w.ctx, 1))(w), 9))(w)), 0)
		w.fail(c, fika.RequestFailed)
		equal(w, "ended without", spaced(w.taskStands(2), "|", must(w.Offer(w.ctx, 2))(w).Stands()), "review | offer 2 is held: the turn that offered it ended before the check of task 2 was run")
		o := w.back(1)
		again := w.reworked(l, o)
		must(w.submit(again, "c", ""))(w)
		equal(w, "nor when it comes back", w.next(), "none")
		must(w.Finish(w.ctx, again.Fence, store.Finish{State: fika.RequestFailed, Reason: "make test fails", Holds: true}))(w)
		equal(w, "held", spaced(w.taskStands(1), "|", must(w.Offer(w.ctx, 1))(w).Stands()), "held make test fails | offer 1 is cancelled: make test fails")
	},
}
