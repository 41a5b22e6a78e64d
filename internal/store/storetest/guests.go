package storetest

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

var guestTests = map[string]func(*world){
	"a session is kept for an agent and a conversation": func(w *world) {
		l := w.lease("claude")
		c := w.begin(l, "x")
		kept := func() store.GuestSession {
			return must(w.GuestSession(w.ctx, l.Agent, c.Conversation.ID))(w)
		}
		equal(w, "at first", kept(), store.GuestSession{})
		g := store.GuestSession{Program: "p", Session: "s-1", Seen: 0, Upto: 7, Prompt: "d", Cost: 5}
		equal(w, "signal", must(w.PromptGuest(w.ctx, c.Fence, g))(w), store.Signal{})
		g.Request = c.Request.ID
		equal(w, "prompted", kept(), g)
		w.ok(w.SettleGuest(w.ctx, c.Fence, 9))
		g.Settled, g.Seen, g.Cost = true, 7, 9
		equal(w, "settled", kept(), g)
		w.answer(c, "done")
		_, err := w.PromptGuest(w.ctx, c.Fence, g)
		w.refused(err, fika.Lost)
		w.refused(w.SettleGuest(w.ctx, c.Fence, 1), fika.Lost)
		equal(w, "after that", kept(), g)
		equal(w, "of another agent", must(w.GuestSession(w.ctx, w.agent("other").ID, c.Conversation.ID))(w), store.GuestSession{})
	},
	"what agents no longer see, guests begin without": func(w *world) {
		l, room := w.lease("claude"), w.chat("room")
		told := func(text string) string {
			w.post(room, text, "claude")
			c := w.claim(l)
			must(w.PromptGuest(w.ctx, c.Fence, store.GuestSession{Program: "p", Session: text}))(w)
			w.ok(w.SettleGuest(w.ctx, c.Fence, 0))
			w.answer(c, "done")
			return must(w.GuestSession(w.ctx, l.Agent, room.ID))(w).Session
		}
		gone := func(after string) {
			equal(w, after, must(w.GuestSession(w.ctx, l.Agent, room.ID))(w), store.GuestSession{})
		}
		equal(w, "told", told("one"), "one")
		w.compactAll(room)
		gone("cleared")
		equal(w, "told again", told("two"), "two")
		r := must(w.Rewind(w.ctx, room.ID, 4, false, "ann", ""))(w)
		gone("rewound")
		equal(w, "told once more", told("three"), "three")
		must(w.Rewind(w.ctx, room.ID, 0, true, "ann", ""))(w)
		gone("put back " + r.Entry.Content)
	},
	"money is limited for a guest until a cost is unknown": func(w *world) {
		const model = "acp:program"
		budget := func(scope string, per limit.Per) store.Limits {
			return store.Limits{Budgets: limit.Budgets{List: []limit.Budget{{Scope: scope, Per: per, Amount: limit.Amount{Money: 1000}}}}}
		}
		for name, limits := range map[fika.AgentName]store.Limits{"one": budget("home", limit.PerTotal), "two": budget("agent:two", limit.PerDay), "three": budget("chain", limit.PerMonth), "four": {MaxCost: 1000}} {
			limits.Budgets.Guest = model
			w.limits = limits
			l := w.lease(name)
			r := w.accept(fika.AskRequest, l.Agent, "x").Request
			for _, cost := range []int64{10, 0} {
				c := w.claim(l)
				must(w.Spend(w.ctx, c.Fence, store.Spent{Round: 1, Kind: fika.FailedStep, Model: model, Usage: fika.AsBilled(model, fika.Usage{Cost: cost})}))(w)
				w.fail(c, fika.RequestFailed)
				equal(w, "unknown", w.state(r.ID, fika.RequestFailed).Outcome.Usage.Unpriced, cost == 0)
				r = must(w.Retry(w.ctx, r.ID))(w)
			}
			w.nothing(l)
			if name == "two" {
				w.state(r.ID, fika.Waiting) // until the next day
				continue
			}
			if why := w.state(r.ID, fika.RequestFailed).Outcome.Error; !strings.Contains(why, "@"+string(name)+": what an earlier turn of its program cost is unknown") {
				w.Errorf("%s is refused for %q", name, why)
			}
			other := w.lease("not-" + name) // another agent of the same budget
			w.accept(fika.AskRequest, other.Agent, "z")
			w.limits.Budgets.Guest = ""
			w.answer(w.claim(other), "done")
			w.accept(fika.AskRequest, l.Agent, "once something else pays for it")
			w.claim(l)
		}
	},
	"a turn continues beside the task that it gives": func(w *world) {
		l, other := w.lease("claude"), w.lease("codex")
		c := w.begin(l, "x")
		step := func(c store.Claimed, round int) int {
			return must(w.CommitModel(w.ctx, c.Fence, store.ModelCommit{Round: round, Calls: []store.PlannedCall{{CallID: "c", Tool: "delegate", Args: "{}", Effect: fika.Idempotent}}}))(w).Steps[0].N
		}
		n := step(c, 1)
		give := func(c store.Claimed, n int, to fika.AgentID) store.Delegated {
			return must(w.HoldTask(w.ctx, c.Fence, store.Delegation{N: n, Agent: to, Prompt: "p", Deadline: time.Minute}))(w)
		}
		task := give(c, n, other.Agent).Children[0]
		equal(w, "its id", task.ID, store.ChildID(c.Request.ID, n))
		equal(w, "who gave it", must(w.Request(w.ctx, c.Request.ID))(w).State, fika.Running)
		_, err := w.HoldTask(w.ctx, c.Fence, store.Delegation{N: n, Agent: other.Agent, Prompt: "p", Deadline: time.Minute})
		w.refused(err, fika.Conflict)
		k := w.claim(other)
		if why := give(k, step(k, 1), l.Agent).Refused; len(why) != 1 {
			w.Errorf("a circle: %v", why)
		}
		_, ended, err := w.EndTask(w.ctx, c.Fence, task.ID)
		w.ok(err)
		equal(w, "before its deadline", ended, false)
		w.clock.Advance(2 * time.Minute)
		late, ended, err := w.EndTask(w.ctx, c.Fence, task.ID)
		w.ok(err)
		equal(w, "after it", ended, true)
		equal(w, "its state", late.CancelAt.IsZero(), false)
		must(w.Cancel(w.ctx, c.Request.ID, "enough"))(w)
		equal(w, "signal", give(c, step(c, 2), other.Agent).Signal.Cancel, true)
	},
	"the task of an interrupted turn goes on, and ends with the try that waits for it": func(w *world) {
		l, other := w.lease("claude"), w.lease("codex")
		c := w.begin(l, "x")
		n := w.plan(c, 1, fika.Idempotent)[0].N
		task := must(w.HoldTask(w.ctx, c.Fence, store.Delegation{N: n, Agent: other.Agent, Prompt: "p", Deadline: time.Minute}))(w).Children[0]
		w.claim(other)
		w.fail(c, fika.StateInterrupted)
		equal(w, "is to stop", must(w.Request(w.ctx, task.ID))(w).CancelAt.IsZero(), true)
		again := must(w.Retry(w.ctx, c.Request.ID))(w)
		c = w.claim(l)
		equal(w, "the next try", c.Request.ID, again.ID)
		must(w.BeginTool(w.ctx, c.Fence, w.plan(c, 1, fika.Idempotent)[0].N, string(task.ID), ""))(w)
		w.fail(c, fika.Cancelled)
		equal(w, "is to stop", must(w.Request(w.ctx, task.ID))(w).CancelAt.IsZero(), false)
	},
	"the steps before a request are those of its tries": func(w *world) {
		l := w.lease("claude")
		w.accept(fika.AskRequest, l.Agent, "x")
		var want []string
		for try := range 3 {
			c := w.claim(l)
			var got []string
			for _, s := range must(w.StepsBefore(w.ctx, c.Request.ID))(w) {
				got = append(got, s.Tool)
			}
			equal(w, "steps", fmt.Sprint(got), fmt.Sprint(want))
			tool := fmt.Sprint("t", try)
			must(w.CommitModel(w.ctx, c.Fence, store.ModelCommit{Round: 1, Calls: []store.PlannedCall{{CallID: "c", Tool: tool, Args: "{}"}}}))(w)
			want = append([]string{tool, ""}, want...)
			must(w.Finish(w.ctx, c.Fence, store.Finish{State: fika.StateInterrupted}))(w)
			must(w.Retry(w.ctx, c.Request.ID))(w)
		}
	},
	"a turn that is to stop is not prompted": func(w *world) {
		l := w.lease("claude")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		must(w.Cancel(w.ctx, c.Request.ID, "enough"))(w)
		equal(w, "signal", must(w.PromptGuest(w.ctx, c.Fence, store.GuestSession{Session: "s"}))(w).Cancel, true)
		equal(w, "kept", must(w.GuestSession(w.ctx, l.Agent, c.Conversation.ID))(w), store.GuestSession{})
		n, sig, err := w.HoldApproval(w.ctx, c.Fence, store.Approval{Step: 1, Tool: "bash"}, w.clock.Now().Add(time.Hour))
		w.ok(err)
		equal(w, "nor asked about", n == 0 && sig.Cancel, true)
	},
	"a running turn waits for an answer": func(w *world) {
		l := w.lease("claude")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		step := w.plan(c, 1, fika.Unsafe)[0]
		hold := func() int64 {
			n, sig, err := w.HoldApproval(w.ctx, c.Fence, store.Approval{Step: step.N, Tool: "bash", Args: `{"command":"x"}`, Bound: "b"}, w.clock.Now().Add(time.Hour))
			w.ok(err)
			equal(w, "signal", sig, store.Signal{})
			return n
		}
		waitsFor := func() int64 {
			a := must(w.Activity(w.ctx, store.ActivityQuery{}))(w)
			equal(w, "under way", len(a.Requests), 1)
			return a.Requests[0].Approval
		}
		equal(w, "waits for", waitsFor(), 0)
		n := hold()
		equal(w, "waits for", waitsFor(), n)
		w.state(c.Request.ID, fika.Running)
		equal(w, "open", len(must(w.OpenApprovals(w.ctx))(w)), 1)
		w.decide(n, true)
		equal(w, "waits for", waitsFor(), 0)
		equal(w, "answered", must(w.Approval(w.ctx, n))(w).State, store.ApprovalGiven)
		_, err := w.AnswerApproval(w.ctx, n, store.ApprovalAnswer{By: "ann"})
		w.refused(err, fika.Conflict)
		equal(w, "an answer that came first stays", must(w.EndHeld(w.ctx, c.Fence, n))(w).State, store.ApprovalGiven)

		n = hold()
		equal(w, "taken back", must(w.EndHeld(w.ctx, c.Fence, n))(w).State, store.ApprovalExpired)
		_, err = w.AnswerApproval(w.ctx, n, store.ApprovalAnswer{Allow: true, By: "ann"})
		w.refused(err, fika.Conflict)

		n = hold()
		w.answer(c, "without it")
		equal(w, "of a turn that has ended", len(must(w.OpenApprovals(w.ctx))(w)), 0)
		_, err = w.AnswerApproval(w.ctx, n, store.ApprovalAnswer{Allow: true, By: "ann"})
		w.refused(err, fika.Conflict)
		_, err = w.EndHeld(w.ctx, c.Fence, n)
		w.refused(err, fika.Lost)
	},
}
