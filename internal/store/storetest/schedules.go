package storetest

import (
	"fmt"
	"sync/atomic"
	"time"

	"fika"
	"fika/internal/store"
)

// defined returns a schedule with the given next time.
func defined(name string, next time.Time) store.Scheduled {
	return store.Scheduled{Name: name, Timing: "* * * * *", Body: "ask", Next: next}
}

// occasion returns a due occasion that begins a task of an agent.
func occasion(d store.Scheduled, due time.Time, a fika.AgentID) store.Occasion {
	d.Next = due.Add(time.Minute)
	return store.Occasion{Scheduled: d, Due: due, Planned: due, Task: &store.NewRequest{
		ID: fika.RequestID(store.ScheduledID(d.Name, due)), Kind: fika.TaskRequest, Agent: a, Payload: fika.Payload{Prompt: "now"},
	}}
}

// scheduled reads the only schedule.
func (w *world) scheduled() store.ScheduleState {
	w.Helper()
	list, _, err := w.ScheduleStates(w.ctx)
	w.ok(err)
	if len(list) != 1 {
		w.Fatalf("%d schedules", len(list))
	}
	return list[0]
}

var scheduleTests = map[string]func(*world){
	"what is due begins once, and moves": func(w *world) {
		a, due := w.agent("coder"), w.clock.Now()
		d := defined("report", due)
		w.ok(w.KeepSchedules(w.ctx, "home", []store.Scheduled{d}))
		first := must(w.BeginScheduled(w.ctx, occasion(d, due, a.ID)))(w)
		equal(w, "begun", fmt.Sprint(first.Stale, first.Request, first.Trouble), fmt.Sprint(false, store.ScheduledID("report", due), ""))
		equal(w, "again", must(w.BeginScheduled(w.ctx, occasion(d, due, a.ID)))(w).Stale, true)
		now := w.scheduled()
		equal(w, "moved", fmt.Sprintf("%v %v %v %s", now.Next.Sub(due), now.Planned.Equal(due), now.Going, now.State), "1m0s true true open")
		early := must(w.BeginScheduled(w.ctx, occasion(d, due.Add(time.Minute), a.ID)))(w)
		equal(w, "before its time", early.Stale, true)
	},
	"nothing begins while the last continues": func(w *world) {
		l, due := w.lease("coder"), w.clock.Now()
		d := defined("report", due)
		w.ok(w.KeepSchedules(w.ctx, "home", []store.Scheduled{d}))
		must(w.BeginScheduled(w.ctx, occasion(d, due, l.Agent)))(w)
		w.clock.Advance(time.Minute)
		skipped := must(w.BeginScheduled(w.ctx, occasion(d, due.Add(time.Minute), l.Agent)))(w)
		equal(w, "skipped", skipped.Trouble, "what it began last is still running")
		equal(w, "said", w.scheduled().Trouble, skipped.Trouble)
		byHand := occasion(d, due, l.Agent)
		byHand.Due, byHand.Task.ID = time.Time{}, ""
		equal(w, "by hand", must(w.BeginScheduled(w.ctx, byHand))(w).Trouble, "")
		equal(w, "next", w.scheduled().Next.Sub(due), 2*time.Minute)
		w.answer(w.claim(l), "one")
		w.answer(w.claim(l), "two")
		w.clock.Advance(time.Minute)
		equal(w, "after", must(w.BeginScheduled(w.ctx, occasion(d, due.Add(2*time.Minute), l.Agent)))(w).Trouble, "")
		equal(w, "said no more", w.scheduled().Trouble, "")
	},
	"a chat is told once": func(w *world) {
		l, room, due := w.lease("coder"), w.chat("room"), w.clock.Now()
		d := defined("standup", due)
		w.ok(w.KeepSchedules(w.ctx, "home", []store.Scheduled{d}))
		say := func(at time.Time) store.Occasion {
			o := occasion(d, at, "")
			o.Task, o.Say = nil, &store.Post{ID: fika.EntryID(store.ScheduledID("standup", at)), Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "@coder?", Notify: []fika.AgentName{"coder"}}
			return o
		}
		equal(w, "told", fmt.Sprint(must(w.BeginScheduled(w.ctx, say(due)))(w).Said.Notified), "[coder]")
		w.clock.Advance(time.Minute)
		equal(w, "not answered", must(w.BeginScheduled(w.ctx, say(due.Add(time.Minute))))(w).Trouble, "what it began last is still running")
		w.answer(w.claim(l), "here")
		w.clock.Advance(time.Minute)
		equal(w, "answered", must(w.BeginScheduled(w.ctx, say(due.Add(2*time.Minute))))(w).Trouble, "")
		equal(w, "entries", len(w.entries(room.ID)), 3)
	},
	"a pause begins nothing and is not caught up on": func(w *world) {
		a, due := w.agent("coder"), w.clock.Now()
		d := defined("report", due)
		w.ok(w.KeepSchedules(w.ctx, "home", []store.Scheduled{d}))
		w.ok(w.PauseSchedule(w.ctx, "report", time.Time{}))
		equal(w, "paused", must(w.BeginScheduled(w.ctx, occasion(d, due, a.ID)))(w).Stale, true)
		w.clock.Advance(time.Hour)
		next := w.clock.Now().Add(time.Minute)
		w.ok(w.PauseSchedule(w.ctx, "report", next))
		w.ok(w.PauseSchedule(w.ctx, "report", next.Add(time.Hour))) // it is not paused any more
		equal(w, "next", w.scheduled().Next.Equal(next), true)
		w.refused(w.PauseSchedule(w.ctx, "nothing", next), fika.NotFound)
	},
	"a definition that changes, goes, or is another home's": func(w *world) {
		a, due := w.agent("coder"), w.clock.Now()
		d := defined("report", due)
		w.ok(w.KeepSchedules(w.ctx, "home", []store.Scheduled{d}))
		later := d
		later.Timing, later.Next = "0 * * * *", due.Add(time.Hour)
		w.ok(w.KeepSchedules(w.ctx, "other", []store.Scheduled{later}))
		equal(w, "not the other's", w.scheduled().Timing, d.Timing)
		equal(w, "nor begun", must(w.BeginScheduled(w.ctx, occasion(later, due, a.ID)))(w).Stale, true)
		w.ok(w.KeepSchedules(w.ctx, "other", nil))
		said := d
		said.Body, said.Next = "say", due.Add(time.Minute)
		w.ok(w.KeepSchedules(w.ctx, "home", []store.Scheduled{said}))
		equal(w, "another prompt is due as before", w.scheduled().Next.Equal(due), true)
		w.ok(w.KeepSchedules(w.ctx, "home", []store.Scheduled{later}))
		equal(w, "another time is not", w.scheduled().Next.Equal(later.Next), true)
		soon := later
		soon.Next = due.Add(time.Minute)
		w.ok(w.KeepSchedules(w.ctx, "home", []store.Scheduled{soon}))
		equal(w, "the clock was ahead", w.scheduled().Next.Equal(soon.Next), true)
		w.ok(w.KeepSchedules(w.ctx, "home", nil))
		list, _, err := w.ScheduleStates(w.ctx)
		w.ok(err)
		equal(w, "gone", len(list), 0)
	},
	"a run": func(w *world) {
		due := w.clock.Now()
		d := defined("week", due)
		w.ok(w.KeepSchedules(w.ctx, "home", []store.Scheduled{d}))
		o := occasion(d, due, "")
		o.Task, o.Run = nil, &store.NewRun{ID: "run-1", Name: "review", Definition: []byte("{}"), Inputs: []byte("{}"), From: "ann", Title: "review"}
		equal(w, "run", must(w.BeginScheduled(w.ctx, o))(w).Request, "run-1")
		equal(w, "going", fmt.Sprintf("%v %s", w.scheduled().Going, w.scheduled().State), "true running")
		w.clock.Advance(time.Minute)
		o.Due, o.Run.ID = due.Add(time.Minute), "run-2"
		equal(w, "not twice", must(w.BeginScheduled(w.ctx, o))(w).Trouble, "what it began last is still running")
	},
}

// schedules makes every store begin the same occasions at once, as several hubs do.
func (r *race) schedules() {
	const many = 5
	a := r.agent(r.name("timed", 0))
	name := r.name("timed", 1)
	due := time.Now().Add(-time.Hour).Truncate(time.Minute)
	d := defined(name, due)
	var begun, moved atomic.Int64
	for n := range many {
		at := due.Add(time.Duration(n) * time.Minute)
		var now atomic.Int64
		r.all(func(_ int, s *store.Store) error {
			if err := s.KeepSchedules(r.ctx, "home", []store.Scheduled{{Name: name, Timing: d.Timing, Body: d.Body, Next: time.Now().Add(time.Hour)}}); err != nil {
				return err
			}
			return nil
		})
		if n == 0 { // the schedule that was created is due later
			r.check(r.stores[0].KeepSchedules(r.ctx, "home", []store.Scheduled{d}))
		}
		r.all(func(_ int, s *store.Store) error {
			o := occasion(d, at, a.ID)
			if n%2 == 1 { // with an id of its own, so that only the row prevents repeats
				o.Task.ID = ""
			}
			done, err := s.BeginScheduled(r.ctx, o)
			switch {
			case err != nil:
				return err
			case done.Stale:
			case done.Trouble == "":
				begun.Add(1)
				fallthrough
			default:
				now.Add(1)
			}
			return nil
		})
		moved.Add(now.Load())
		list, err := r.stores[0].ListRequests(r.ctx, store.RequestFilter{Agent: a.ID, States: []fika.RequestState{fika.Open}})
		r.check(err)
		for _, q := range list {
			_, err := r.stores[0].Cancel(r.ctx, q.ID, "raced")
			r.check(err)
		}
	}
	r.count("times that were moved", int(moved.Load()), many)
	r.count("begun", int(begun.Load()), many)
	list, err := r.stores[0].ListRequests(r.ctx, store.RequestFilter{Agent: a.ID})
	r.check(err)
	r.count("requests", len(list), many)
}
