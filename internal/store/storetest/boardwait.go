package storetest

import (
	"fmt"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

// waits has a request wait for tasks of the board in a step.
func (w *world) waits(c store.Claimed, n int, tasks ...fika.TaskNumber) (store.WaitedFor, error) {
	return w.AwaitTasks(w.ctx, c.Fence, store.TaskWait{N: n, Tasks: tasks, For: time.Hour})
}

var boardWaitTests = map[string]func(*world){
	"a request sleeps until its tasks have ended or wait for a person": func(w *world) {
		lead, coder := w.lease("lead"), w.lease("coder")
		takes := store.Limits{Board: &limit.Board{Most: 1}}
		w.tasks("one", "two")
		c := w.begin(lead, "build it")
		step := w.plan(c, 1, fika.Idempotent)[0].N
		got := must(w.waits(c, step, 1, 2))(w)
		equal(w, "sleeps", spaced(got.Waiting, got.Over, len(got.Tasks)), "true false 2")
		r := must(w.Request(w.ctx, c.Request.ID))(w)
		equal(w, "stored", spaced(r.State, r.Reason, r.Attempts), "waiting board 0")
		w.takesNothing("asleep", lead, store.Limits{})
		one := w.take(coder, takes)
		w.takesNothing("one is worked", lead, store.Limits{})
		w.answer(one, "built one")
		w.takesNothing("two is open", lead, store.Limits{})
		two := w.take(coder, takes)
		w.fail(two, fika.Cancelled)
		c = w.claim(lead)
		equal(w, "awake", spaced(c.Waited, c.Resumed), "board true")
		got = must(w.waits(c, step, 1, 2))(w)
		equal(w, "states", spaced(got.Waiting, got.Tasks[0].State, got.Tasks[1].State), "false done held")
	},
	"a wait has an end, and begins when its step does": func(w *world) {
		l := w.lease("lead")
		w.tasks("one")
		c := w.begin(l, "build it")
		step := w.plan(c, 1, fika.Idempotent)[0].N
		must(w.waits(c, step, 1))(w)
		w.ok(w.Renew(w.ctx, l, 3*time.Hour, store.Beat{}))
		w.clock.Advance(59 * time.Minute)
		w.takesNothing("not yet", l, store.Limits{})
		w.clock.Advance(2 * time.Minute)
		c = w.claim(l)
		got := must(w.waits(c, step, 1))(w)
		equal(w, "over", spaced(got.Waiting, got.Over, got.Tasks[0].State), "false true open")
		_, err := w.waits(c, step, 9)
		w.refused(err, fika.NotFound)
	},
	"nobody waits for themselves": func(w *world) {
		coder, other := w.lease("coder"), w.lease("other")
		takes := store.Limits{Board: &limit.Board{Most: 1}}
		w.added(store.NewTask{Title: "one"})
		w.added(store.NewTask{Title: "two", Needs: []fika.TaskNumber{1}})
		w.added(store.NewTask{Title: "three"})
		one := w.take(coder, takes)
		stepOne := w.plan(one, 1, fika.Idempotent)[0].N
		_, err := w.waits(one, stepOne, 2)
		w.refused(err, fika.Invalid)
		equal(w, "path", fmt.Sprint(err), "wait for tasks: you would wait for yourself: task 2 waits for task 1, which is worked here")
		_, err = w.waits(one, stepOne, 1)
		w.refused(err, fika.Invalid)
		three := w.take(other, takes)
		stepThree := w.plan(three, 1, fika.Idempotent)[0].N
		equal(w, "three waits for one", must(w.waits(three, stepThree, 1))(w).Waiting, true)
		_, err = w.waits(one, stepOne, 3)
		w.refused(err, fika.Invalid)
		w.added(store.NewTask{Title: "four"})
		equal(w, "waiting does not count", w.take(other, takes).Request.Task, 4)
	},
}
