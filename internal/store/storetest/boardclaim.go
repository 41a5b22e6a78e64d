package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

// taker creates an agent with limits under which it takes tasks of the board, and takes its
// lease.
func (w *world) taker(name fika.AgentName, capabilities ...string) (store.Lease, store.Limits) {
	w.Helper()
	return w.lease(name), store.Limits{Board: &limit.Board{Most: 1, Capabilities: capabilities}}
}

// take takes the next piece of work under limits, which must be there.
func (w *world) take(l store.Lease, limits store.Limits) store.Claimed {
	w.Helper()
	c := must(w.Claim(w.ctx, l, limits, nil))(w)
	if c == nil {
		w.Fatal("nothing to take")
	}
	return *c
}

// takesNothing holds that there is nothing to claim under limits.
func (w *world) takesNothing(what string, l store.Lease, limits store.Limits) {
	w.Helper()
	if c := must(w.Claim(w.ctx, l, limits, nil))(w); c != nil {
		w.Fatalf("%s: claimed task %d", what, c.Request.Task)
	}
}

var boardClaimTests = map[string]func(*world){
	"an agent takes what needs nothing, and what comes of it is the result": func(w *world) {
		l, takes := w.taker("coder")
		other, _ := w.taker("other")
		w.tasks("one", "two")
		equal(w, "look", must(w.Look(w.ctx, l))(w).Tasks, true)
		equal(w, "claimable", fmt.Sprint(len(must(w.Claimable(w.ctx, 9))(w))), "1")
		w.takesNothing("without the setting", other, store.Limits{})
		from := w.now()
		c := w.take(l, takes)
		equal(w, "told", lines(w.since(from)), "conversation active, request open, task 1 claimed, entry 1 message, request running")
		equal(w, "request", fmt.Sprint(c.Request.Task, " ", c.Request.Kind, " ", c.Request.Chain == c.Request.ID, " ", c.Request.Depth, " ", c.Prompt.From), "1 task true 0 ann")
		equal(w, "prompt", strings.HasPrefix(c.Prompt.Content, "Task 1 of the board: one\n"), true)
		t := must(w.Task(w.ctx, 1))(w)
		equal(w, "has it", fmt.Sprint(t.State, " ", t.WorkerName, " ", t.Request == c.Request.ID), "claimed coder true")
		w.takesNothing("while it has one", l, takes)
		w.takesNothing("what needs it", other, takes)
		equal(w, "may take", must(w.MayTake(w.ctx, other.Agent, *takes.Board))(w), false)
		from = w.now()
		w.answer(c, "it is done")
		equal(w, "told", lines(w.since(from)), "entry 2 message, request done, task 1 done, conversation completed")
		equal(w, "result", must(w.Task(w.ctx, 1))(w).Result, "it is done")
		equal(w, "may take", must(w.MayTake(w.ctx, other.Agent, *takes.Board))(w), true)
		c = w.take(other, takes)
		equal(w, "the next", c.Request.Task, 2)
		equal(w, "is shown what came of the first", strings.Contains(c.Prompt.Content, "What came of task 1 (one), which this one needed:\n  it is done"), true)
		w.answer(c, "too")
		equal(w, "board", w.board(), "1 done, 2 done")
		equal(w, "nothing more", must(w.Look(w.ctx, l))(w).Tasks, false)
		equal(w, "log", w.taskLog(1), "ann added; @coder claimed; @coder finished")
	},
	"who works a task or has added it says how far it is": func(w *world) {
		l, takes := w.taker("coder")
		w.tasks("a person's")
		lead := store.NewTasks{By: "lead", Writer: fika.ByAgent, Rights: &fika.Rights{Tools: []string{"bash", "read"}}, List: []store.NewTask{{Title: "the lead's", Agent: w.agent("other").ID}}}
		must(w.AddTasks(w.ctx, lead))(w)
		c := w.take(l, takes)
		mine := store.TaskReport{By: "@coder", Agent: "coder", Request: c.Request.ID, Taint: "fetch example.org"}
		say := func(n fika.TaskNumber, r store.TaskReport) error { _, err := w.ReportTask(w.ctx, n, r); return err }
		noted, handed, body := mine, mine, mine
		text := "with a grammar"
		noted.Note, handed.HandBack, body.Body = "half of it", "too hard", &text
		w.refused(say(2, noted), fika.Denied)
		w.refused(say(2, handed), fika.Denied)
		w.refused(say(1, body), fika.Denied)
		w.refused(say(9, noted), fika.NotFound)
		w.refused(say(1, store.TaskReport{By: "ann", HandBack: "x"}), fika.Denied)
		w.ok(say(1, noted))
		w.ok(say(2, store.TaskReport{By: "ann", Note: "seen"}))
		byLead := store.TaskReport{By: "@lead", Agent: "lead", Request: "elsewhere", Rights: &fika.Rights{Tools: []string{"read"}}, Taint: "fetch example.org", Held: "look first", Body: &text}
		w.ok(say(2, byLead))
		t := must(w.Task(w.ctx, 2))(w)
		equal(w, "changed", fmt.Sprint(t.State, " ", t.HeldReason, " ", t.Body, " ", t.Rights.Tools, " ", t.Taint), "held look first with a grammar [read] fetch example.org")
		w.ok(say(1, handed))
		w.answer(c, "no")
		t = must(w.Task(w.ctx, 1))(w)
		equal(w, "given back", fmt.Sprint(t.State, " ", t.Attempts, " ", t.Taint, " ", t.HandedBack), "open 1 fetch example.org ")
		equal(w, "log", w.taskLog(1), "ann added; @coder claimed; @coder noted half of it; @coder handed back too hard")
		w.refused(say(1, noted), fika.Denied)
		again := w.take(l, takes)
		equal(w, "the next is shown it", strings.Contains(again.Prompt.Content, "@coder noted: half of it\n@coder handed back: too hard"), true)
		handed.Request = again.Request.ID
		w.ok(say(1, handed))
		w.fail(again, fika.RequestFailed)
		w.answer(w.take(l, takes), "done now")
		equal(w, "what was said in a turn that failed", must(w.Task(w.ctx, 1))(w).State, fika.TaskDone)
		w.refused(say(1, store.TaskReport{By: "ann", Note: "x"}), fika.Conflict)
	},
	"the most urgent comes first, then what is for the agent, then what was added first": func(w *world) {
		l, takes := w.taker("coder", "go")
		takes.Board.Most = 9
		w.added(store.NewTask{Title: "any", Priority: 2})
		w.added(store.NewTask{Title: "for those who can", Priority: 2, Capability: "go"})
		w.added(store.NewTask{Title: "for it", Priority: 2, Agent: l.Agent})
		w.added(store.NewTask{Title: "urgent", Priority: 0})
		w.added(store.NewTask{Title: "not for it", Priority: 0, Agent: w.agent("other").ID})
		w.added(store.NewTask{Title: "what it cannot", Priority: 0, Capability: "rust"})
		w.added(store.NewTask{Title: "held", Priority: 0, Held: "look"})
		w.added(store.NewTask{Title: "overdue", Priority: 0, Due: w.clock.Now().Add(-time.Second)})
		var got []string
		for {
			c := must(w.Claim(w.ctx, l, takes, nil))(w)
			if c == nil {
				break
			}
			got = append(got, fmt.Sprint(c.Request.Task))
		}
		equal(w, "order", strings.Join(got, " "), "4 3 2 1")
	},
	"other work comes first, and nothing is taken while all is paused": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "a"})
		must(w.SetAllPaused(w.ctx, true))(w)
		w.takesNothing("paused", l, takes)
		equal(w, "claimable", len(must(w.Claimable(w.ctx, 9))(w)), 0)
		must(w.SetAllPaused(w.ctx, false))(w)
		asked := w.accept(fika.AskRequest, l.Agent, "x")
		equal(w, "first", w.take(l, takes).Request.ID, asked.Request.ID)
		equal(w, "then", w.take(l, takes).Request.Task, 1)
	},
	"it takes work only from those that it takes work from": func(w *world) {
		l, takes := w.taker("coder")
		takes.Board.CallableBy = []string{"reviewer"}
		w.added(store.NewTask{Title: "a person's"})
		w.takesNothing("a person's", l, takes)
		must(w.AddTasks(w.ctx, store.NewTasks{By: "reviewer", Writer: fika.ByAgent, List: []store.NewTask{{Title: "b"}}}))(w)
		c := w.take(l, takes)
		equal(w, "the reviewer's", fmt.Sprint(c.Request.Task, " ", c.Prompt.From), "2 reviewer")
		w.answer(c, "yes")
		takes.Board.CallableBy = []string{limit.BoardUser}
		equal(w, "people's", w.take(l, takes).Request.Task, 1)
	},
	"what a budget refuses stays as it is": func(w *world) {
		l, takes := w.taker("coder")
		w.budget("agent:coder", limit.PerDay, 1)
		takes.Budgets = w.limits.Budgets
		w.added(store.NewTask{Title: "a"})
		c := w.take(l, takes)
		w.pay(c)
		w.added(store.NewTask{Title: "b"})
		before := must(w.Task(w.ctx, 2))(w)
		from := w.now()
		w.takesNothing("used up", l, takes)
		equal(w, "told", lines(w.since(from)), "")
		equal(w, "unchanged", must(w.Task(w.ctx, 2))(w).Version, before.Version)
		equal(w, "requests", len(must(w.ListRequests(w.ctx, store.RequestFilter{Agent: l.Agent}))(w)), 1)
		w.clock.Advance(24 * time.Hour)
		equal(w, "the next day", w.take(l, takes).Request.Task, 2)
	},
	"what fails is tried again, at last by a person": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "a"})
		for n := 1; n <= 3; n++ {
			c := w.take(l, takes)
			equal(w, "attempt", c.Request.Payload.Attempt, n)
			equal(w, "says what happened", strings.Contains(c.Prompt.Content, "@coder failed: test"), n > 1)
			state := fika.RequestFailed
			if n == 2 {
				state = fika.Dead
			}
			w.fail(c, state)
		}
		t := must(w.Task(w.ctx, 1))(w)
		equal(w, "held", fmt.Sprint(t.State, " ", t.Attempts, " ", t.HeldReason), "held 3 it failed 3 times, at last: test")
		w.takesNothing("held", l, takes)
		must(w.ReleaseTask(w.ctx, 1, "ann", ""))(w)
		c := w.take(l, takes)
		must(w.Cancel(w.ctx, c.Request.ID, store.InterruptedBy+"ann"))(w)
		w.fail(c, fika.Cancelled)
		t = must(w.Task(w.ctx, 1))(w)
		equal(w, "cancelled", fmt.Sprint(t.State, " ", t.Attempts), "held 0")
	},
	"a limit that ends a turn holds its task": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "a"})
		c := w.take(l, takes)
		must(w.Finish(w.ctx, c.Fence, store.Finish{State: fika.RequestFailed, Reason: "limit", Outcome: fika.Outcome{Error: "the month is used up", ErrorKind: fika.Limit}}))(w)
		t := must(w.Task(w.ctx, 1))(w)
		equal(w, "held", fmt.Sprint(t.State, " ", t.Attempts, " ", t.HeldReason), "held 0 the month is used up")
	},
	"a person takes a task back, and what the worker does then changes nothing": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "a"})
		c := w.take(l, takes)
		t := must(w.ReleaseTask(w.ctx, 1, "ann", "wrong one"))(w)
		equal(w, "open", t.State, fika.TaskOpen)
		equal(w, "is asked to stop", must(w.Signal(w.ctx, c.Fence))(w).Cancel, true)
		w.takesNothing("while it stops", l, takes)
		w.answer(c, "too late")
		t = must(w.Task(w.ctx, 1))(w)
		equal(w, "still open", fmt.Sprint(t.State, t.Result), "open")
		c = w.take(l, takes)
		must(w.CloseTask(w.ctx, 1, fika.TaskDone, "ann", "did it"))(w)
		w.fail(c, fika.Cancelled)
		equal(w, "closed", must(w.Task(w.ctx, 1))(w).Result, "did it")
		// A request that waits ends at once.
		w.added(store.NewTask{Title: "b"})
		c = w.take(l, takes)
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitPause, time.Time{}))
		other := w.agent("other").ID
		t = must(w.EditTask(w.ctx, 2, store.TaskEdit{Agent: &other, By: "ann"}))(w)
		equal(w, "another's", fmt.Sprint(t.State, " ", t.AgentName), "open other")
		w.state(c.Request.ID, fika.Cancelled)
	},
	"rights and outside text go with a task": func(w *world) {
		l, takes := w.taker("coder")
		rights := &fika.Rights{Tools: []string{"read"}}
		must(w.AddTasks(w.ctx, store.NewTasks{By: "lead", Writer: fika.ByAgent, Rights: rights, Taint: "fetch x", List: []store.NewTask{{Title: "a"}}}))(w)
		c := w.take(l, takes)
		equal(w, "rights", fmt.Sprint(c.Request.Rights.Tools, c.Request.Taint, c.Prompt.Meta.Taint.From), "[read]fetch xfetch x")
		must(w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done, Outcome: fika.Outcome{Answer: "x"}}))(w)
		w.added(store.NewTask{Title: "b", Needs: []fika.TaskNumber{1}})
		equal(w, "of what it needs", w.take(l, takes).Request.Taint, "fetch x")
	},
	"the tasks of an agent that is gone are opened": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "a"})
		c := w.take(l, takes)
		opened := func() int { return len(must(w.OpenLapsed(w.ctx, 10*time.Minute))(w)) }
		w.clock.Advance(9 * time.Minute)
		equal(w, "too soon", opened(), 0)
		w.ok(w.Renew(w.ctx, l, time.Minute, store.Beat{}))
		w.clock.Advance(9 * time.Minute)
		equal(w, "it was seen", opened(), 0)
		w.clock.Advance(2 * time.Minute)
		equal(w, "gone", opened(), 1)
		t := must(w.Task(w.ctx, 1))(w)
		equal(w, "open", fmt.Sprint(t.State, " ", t.Attempts), "open 0")
		_, err := w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done})
		w.refused(err, fika.Lost)
		w.state(c.Request.ID, fika.Cancelled)
		w.added(store.NewTask{Title: "late", Due: w.clock.Now().Add(time.Minute)})
		w.clock.Advance(2 * time.Minute)
		equal(w, "overdue", opened(), 1)
		equal(w, "held", must(w.Task(w.ctx, 2))(w).State, fika.TaskHeld)
		// A request that waits for a person is not an agent's fault.
		l, _ = w.taker("coder")
		c = w.take(l, takes)
		must(w.AskApproval(w.ctx, c.Fence, []store.Approval{{Step: w.plan(c, 1, fika.Unsafe)[0].N}}, w.clock.Now().Add(time.Hour)))(w)
		w.clock.Advance(20 * time.Minute)
		equal(w, "waits for a person", opened(), 0)
	},
	"a killed agent continues with its task": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "a"})
		lost := w.take(l, takes)
		l = w.lease("coder")
		rec := must(w.Recover(w.ctx, l))(w)
		equal(w, "recovered", rec.Claimed[0].Request.ID, lost.Request.ID)
		w.takesNothing("it has it", l, takes)
		w.answer(rec.Claimed[0], "done")
		equal(w, "board", w.board(), "1 done")
	},
	"deleting an agent opens its tasks": func(w *world) {
		l, takes := w.taker("coder")
		w.added(store.NewTask{Title: "a", Priority: 1})
		w.added(store.NewTask{Title: "b", Agent: l.Agent, Priority: 2})
		w.take(l, takes)
		w.ok(w.Release(w.ctx, l))
		from := w.now()
		w.ok(w.DeleteAgent(w.ctx, l.Agent))
		equal(w, "told", strings.HasPrefix(lines(w.since(from)), "task 1 open, task 2 held"), true)
		equal(w, "board", w.board(), "1 open, 2 held")
		next, takes := w.taker("next")
		equal(w, "taken by another", w.take(next, takes).Request.Task, 1)
	},
	"each task is taken once, whoever looks at the same time": func(w *world) {
		const many = 30
		var list []store.NewTask
		for n := range many {
			list = append(list, store.NewTask{Title: fmt.Sprint(n)})
			if n >= 10 {
				list[n].After = []int{n - 10}
			}
		}
		must(w.AddTasks(w.ctx, store.NewTasks{By: "ann", List: list}))(w)
		var mu sync.Mutex
		done := map[fika.TaskNumber]int{}
		var leases []store.Lease
		limits := store.Limits{Board: &limit.Board{Most: 1}}
		for i := range 6 {
			leases = append(leases, w.lease(fika.AgentName(fmt.Sprint("worker-", i))))
		}
		together(6, func(i int) {
			for idle := 0; idle < 40; {
				c, err := w.Claim(w.ctx, leases[i], limits, nil)
				if err != nil {
					w.Error(err)
					return
				}
				if c == nil {
					idle++
					continue
				}
				mu.Lock()
				done[c.Request.Task]++
				for _, n := range must(w.Task(w.ctx, c.Request.Task))(w).Unmet() {
					w.Errorf("task %d was begun before task %d", c.Request.Task, n.Number)
				}
				mu.Unlock()
				if _, err := w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done}); err != nil {
					w.Error(err)
				}
			}
		})
		// What became free after the last look of an idle one.
		for c := must(w.Claim(w.ctx, leases[0], limits, nil))(w); c != nil; c = must(w.Claim(w.ctx, leases[0], limits, nil))(w) {
			done[c.Request.Task]++
			must(w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done}))(w)
		}
		equal(w, "tasks", len(done), many)
		for n, times := range done {
			if times != 1 {
				w.Errorf("task %d was taken %d times", n, times)
			}
		}
	},
}

// board makes eight agents, each in a store of its own, take the tasks that four of them
// add with needs, while people take some back and others fail: each is done once at last,
// and never by two at once.
func (r *race) board() {
	const many = 24
	var leases []store.Lease
	for n := range r.stores {
		leases = append(leases, r.lease(r.agent(r.name("board", n))))
	}
	var mu sync.Mutex
	ours := map[fika.TaskNumber]bool{}
	at := map[fika.TaskNumber]int{} // which store works it, from 1
	done := map[fika.TaskNumber]int{}
	limits := store.Limits{Board: &limit.Board{Most: 1, Capabilities: []string{r.name("can", 0)}}}
	r.all(func(i int, s *store.Store) error {
		if i < 4 {
			var list []store.NewTask
			for n := range many / 4 {
				t := store.NewTask{Title: fmt.Sprint(n), Capability: r.name("can", 0), Priority: n % 3}
				if n > 1 {
					t.After = []int{n - 2}
				}
				list = append(list, t)
			}
			added, err := s.AddTasks(r.ctx, store.NewTasks{By: "ann", List: list})
			if err != nil {
				return err
			}
			mu.Lock()
			for _, t := range added {
				ours[t.Number] = true
			}
			mu.Unlock()
		}
		for idle := 0; idle < 20; {
			c, err := s.Claim(r.ctx, leases[i], limits, nil)
			if err != nil {
				return err
			}
			if c == nil {
				idle++
				continue
			}
			n := c.Request.Task
			mu.Lock()
			if at[n] != 0 {
				r.Errorf("task %d is worked by %d and %d", n, at[n], i+1)
			}
			at[n] = i + 1
			mu.Unlock()
			fin := store.Finish{State: fika.Done}
			if i%4 == 1 && c.Request.Payload.Attempt < 2 {
				fin.State = fika.RequestFailed
			}
			mu.Lock()
			delete(at, n)
			if fin.State == fika.Done {
				done[n]++
			}
			mu.Unlock()
			if _, err := s.Finish(r.ctx, c.Fence, fin); err != nil {
				return err
			}
		}
		return nil
	})
	for c, err := r.stores[0].Claim(r.ctx, leases[0], limits, nil); c != nil; c, err = r.stores[0].Claim(r.ctx, leases[0], limits, nil) {
		r.check(err)
		done[c.Request.Task]++
		_, err = r.stores[0].Finish(r.ctx, c.Fence, store.Finish{State: fika.Done})
		r.check(err)
	}
	r.count("tasks done", len(done), many)
	for n, times := range done {
		if !ours[n] || times != 1 {
			r.Errorf("task %d was done %d times", n, times)
		}
	}
}
