package storetest

import (
	"sync"
	"time"

	"fika"
	"fika/internal/store"
)

// asking is a request that waits for answers to questions about its steps.
type asking struct {
	lease   store.Lease
	claimed store.Claimed
	steps   []fika.Step
	open    []store.OpenApproval
}

// ask makes the agent boss plan unsafe calls and ask about each.
func (w *world) ask(calls int, lasts time.Duration) asking {
	w.Helper()
	a := asking{lease: w.lease("boss")}
	w.accept(fika.AskRequest, a.lease.Agent, "push it")
	a.claimed = w.claim(a.lease)
	effects := make([]fika.Effect, calls)
	for i := range effects {
		effects[i] = fika.Unsafe
	}
	a.steps = w.plan(a.claimed, 1, effects...)
	until := w.clock.Now().Add(lasts)
	var list []store.Approval
	for _, s := range a.steps {
		list = append(list, store.Approval{Step: s.N, Tool: "bash", Args: `{"command":"git push"}`, What: "git push", Bound: "digest"})
	}
	sig := must(w.AskApproval(w.ctx, a.claimed.Fence, list, until))(w)
	equal(w, "signal", sig, store.Signal{})
	a.open = must(w.OpenApprovals(w.ctx))(w)
	equal(w, "open", len(a.open), calls)
	return a
}

func (w *world) decide(n int64, allow bool) {
	w.Helper()
	must(w.AnswerApproval(w.ctx, n, store.ApprovalAnswer{Allow: allow, By: "ann"}))(w)
}

var approvalTests = map[string]func(*world){
	"a request waits until the last question is answered": func(w *world) {
		a := w.ask(2, time.Hour)
		r := w.state(a.claimed.Request.ID, fika.Waiting)
		equal(w, "reason", r.Reason, string(fika.WaitApproval))
		equal(w, "agent", a.open[0].Agent, "boss")
		w.nothing(a.lease)
		w.decide(a.open[0].N, true)
		w.nothing(a.lease)
		w.decide(a.open[1].N, false)
		again := w.claim(a.lease)
		equal(w, "the same", again.Request.ID, a.claimed.Request.ID)
		equal(w, "waited for", again.Waited, fika.WaitApproval)
		list := must(w.ApprovalsOf(w.ctx, again.Fence))(w)
		equal(w, "first", list[0].State, store.ApprovalGiven)
		equal(w, "second", list[1].State, store.ApprovalRefused)
		equal(w, "step", list[1].Step, a.steps[1].N)
		about := must(w.ApprovalsAbout(w.ctx, again.Request.ID))(w)
		equal(w, "asked about", len(about), 2)
		equal(w, "refused", about[1].State, store.ApprovalRefused)
		equal(w, "open", len(must(w.OpenApprovals(w.ctx))(w)), 0)
	},
	"only the first answer counts": func(w *world) {
		a := w.ask(1, time.Hour)
		w.decide(a.open[0].N, false)
		_, err := w.AnswerApproval(w.ctx, a.open[0].N, store.ApprovalAnswer{Allow: true, By: "ben"})
		w.refused(err, fika.Conflict)
		equal(w, "state", must(w.Approval(w.ctx, a.open[0].N))(w).State, store.ApprovalRefused)
	},
	"of two answers at once one counts": func(w *world) {
		a := w.ask(1, time.Hour)
		var all sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			all.Go(func() {
				_, errs[i] = w.AnswerApproval(w.ctx, a.open[0].N, store.ApprovalAnswer{Allow: i%2 == 0, By: "somebody"})
			})
		}
		all.Wait()
		counted := 0
		for _, err := range errs {
			if err == nil {
				counted++
				continue
			}
			w.refused(err, fika.Conflict)
		}
		equal(w, "answers that count", counted, 1)
	},
	"without an answer it continues when its time is over": func(w *world) {
		a := w.ask(1, time.Hour)
		w.clock.Advance(time.Hour)
		_, err := w.AnswerApproval(w.ctx, a.open[0].N, store.ApprovalAnswer{Allow: true})
		w.refused(err, fika.Conflict)
		l := w.lease("boss")
		again := w.claim(l)
		equal(w, "state", must(w.ApprovalsOf(w.ctx, again.Fence))(w)[0].State, store.ApprovalExpired)
		_, err = w.AnswerApproval(w.ctx, a.open[0].N, store.ApprovalAnswer{Allow: true})
		w.refused(err, fika.Conflict)
	},
	"nobody can answer for a request that has ended": func(w *world) {
		a := w.ask(1, time.Hour)
		must(w.Cancel(w.ctx, a.claimed.Request.ID, "enough"))(w)
		equal(w, "open", len(must(w.OpenApprovals(w.ctx))(w)), 0)
		_, err := w.AnswerApproval(w.ctx, a.open[0].N, store.ApprovalAnswer{Allow: true})
		w.refused(err, fika.Conflict)
		_, err = w.AnswerApproval(w.ctx, 999, store.ApprovalAnswer{Allow: true})
		w.refused(err, fika.NotFound)
	},
	"only its owner asks, and nobody in the foreground": func(w *world) {
		a := w.ask(1, time.Hour)
		_, err := w.AskApproval(w.ctx, a.claimed.Fence, nil, w.clock.Now())
		w.refused(err, fika.Lost)
		l := w.lease("fore")
		c := w.begin(l, "hello")
		_, err = w.AskApproval(w.ctx, c.Fence, nil, w.clock.Now())
		w.refused(err, fika.Invalid)
	},
	"a new owner finds the answer": func(w *world) {
		a := w.ask(1, time.Hour)
		l := w.lease("boss") // the process was killed meanwhile
		w.nothing(l)
		w.decide(a.open[0].N, true)
		again := w.claim(l)
		equal(w, "state", must(w.ApprovalsOf(w.ctx, again.Fence))(w)[0].State, store.ApprovalGiven)
	},
}
