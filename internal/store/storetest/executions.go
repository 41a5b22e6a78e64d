package storetest

import (
	"slices"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
)

// box is the id of the executor in these tests.
const box = "home/box"

// offering is a request whose steps go to an executor.
type offering struct {
	lease   store.Lease
	claimed store.Claimed
	steps   []fika.Step
}

func (w *world) offer(effects ...fika.Effect) offering {
	w.Helper()
	o := offering{lease: w.lease("boss")}
	w.accept(fika.AskRequest, o.lease.Agent, "run it")
	o.claimed = w.claim(o.lease)
	o.steps = w.plan(o.claimed, 1, effects...)
	for _, s := range o.steps {
		equal(w, "signal", must(w.OfferTool(w.ctx, o.claimed.Fence, s.N, "", "", box, `{}`))(w), store.Signal{})
	}
	return o
}

func (w *world) executor() store.ExecutorLease {
	w.Helper()
	return must(w.AcquireExecutor(w.ctx, box, "1@here", "nobody", time.Minute))(w)
}

func (w *world) execution(o offering) store.Execution {
	w.Helper()
	x, known, err := w.Execution(w.ctx, o.claimed.Request.ID, o.steps[0].N)
	w.ok(err)
	equal(w, "known", known, true)
	return x
}

// successor takes over the agent and its request.
func (w *world) successor(o offering) (offering, store.Recovery) {
	w.Helper()
	o.lease = must(w.Acquire(w.ctx, o.lease.Agent, "2@here", time.Minute, true))(w)
	rec := must(w.Recover(w.ctx, o.lease))(w)
	equal(w, "claimed again", len(rec.Claimed), 1)
	o.claimed = rec.Claimed[0]
	return o, rec
}

var executionTests = map[string]func(*world){
	"a step goes to an executor and back": func(w *world) {
		o, l := w.offer(fika.Unsafe), w.executor()
		c := must(w.ClaimStep(w.ctx, l))(w)
		equal(w, "tool", c.Step.Tool, o.steps[0].Tool)
		equal(w, "agent", c.Agent, "boss")
		equal(w, "nothing else", must(w.ClaimStep(w.ctx, l))(w) == nil, true)
		w.ok(w.FinishStep(w.ctx, l, c.Request, c.N, "done"))
		w.ok(w.FinishStep(w.ctx, l, c.Request, c.N, "done")) // the first answer was lost
		equal(w, "result", w.execution(o).Result, "done")
		must(w.CommitTool(w.ctx, o.claimed.Fence, c.N, store.ToolCommit{Text: "done", Executed: true}))(w)
		_, known, err := w.Execution(w.ctx, c.Request, c.N)
		w.ok(err)
		equal(w, "left", known, false)
	},
	"a step is claimed once": func(w *world) {
		o, l := w.offer(fika.Unsafe, fika.Unsafe, fika.Unsafe), w.executor()
		var all sync.WaitGroup
		var mu sync.Mutex
		claimed := map[int]int{}
		for range 8 {
			all.Go(func() {
				for range 4 {
					if c, err := w.ClaimStep(w.ctx, l); err == nil && c != nil {
						mu.Lock()
						claimed[c.N]++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		for _, s := range o.steps {
			equal(w, "claims", claimed[s.N], 1)
		}
	},
	"only the executor itself claims and finishes": func(w *world) {
		w.offer(fika.Unsafe, fika.Unsafe)
		first := w.executor()
		c := must(w.ClaimStep(w.ctx, first))(w)
		second := w.executor()
		equal(w, "claim", must(w.ClaimStep(w.ctx, first))(w) == nil, true)
		w.refused(w.FinishStep(w.ctx, first, c.Request, c.N, "late"), fika.Lost)
		w.refused(w.FinishStep(w.ctx, second, c.Request, c.N, "not its own"), fika.Lost)
		w.refused(w.RenewExecutor(w.ctx, first, time.Minute), fika.Lost)
		forged := second
		forged.ID = "made up"
		equal(w, "forged", must(w.ClaimStep(w.ctx, forged))(w) == nil, true)
		left := must(w.TakeOver(w.ctx, second))(w)
		equal(w, "left", len(left), 1)
		equal(w, "which", left[0].N, c.N)
		w.ok(w.FinishStep(w.ctx, second, c.Request, c.N, "interrupted"))
	},
	"what another owner's turn has offered waits until it is taken up": func(w *world) {
		o, l := w.offer(fika.Unsafe), w.executor()
		o, rec := w.successor(o)
		equal(w, "its processes are the executor's", len(rec.Orphans), 0)
		equal(w, "claim", must(w.ClaimStep(w.ctx, l))(w) == nil, true)
		must(w.OfferTool(w.ctx, o.claimed.Fence, o.steps[0].N, "", "", box, `{"other":1}`))(w)
		c := must(w.ClaimStep(w.ctx, l))(w)
		equal(w, "as it was offered", c.Call, `{}`)
	},
	"a result outlives the turn that offered": func(w *world) {
		o, l := w.offer(fika.Unsafe), w.executor()
		c := must(w.ClaimStep(w.ctx, l))(w)
		before := o.claimed.Fence
		o, _ = w.successor(o)
		w.ok(w.FinishStep(w.ctx, l, c.Request, c.N, "done"))
		must(w.OfferTool(w.ctx, o.claimed.Fence, c.N, "", "", box, `{}`))(w)
		equal(w, "state", w.execution(o).State, store.ExecutionDone)
		_, err := w.CommitTool(w.ctx, before, c.N, store.ToolCommit{Text: "done", Executed: true})
		w.refused(err, fika.Lost)
		must(w.CommitTool(w.ctx, o.claimed.Fence, c.N, store.ToolCommit{Text: "done", Executed: true}))(w)
	},
	"what is not wanted is not claimed, and what runs is told": func(w *world) {
		o, l := w.offer(fika.Unsafe, fika.Unsafe), w.executor()
		c := must(w.ClaimStep(w.ctx, l))(w)
		for _, s := range o.steps {
			w.ok(w.Withdraw(w.ctx, s.Request, s.N))
		}
		equal(w, "claim", must(w.ClaimStep(w.ctx, l))(w) == nil, true)
		list := must(w.StepsOf(w.ctx, l))(w)
		equal(w, "running", len(list), 1)
		equal(w, "told", list[0].Canceled, true)
		w.ok(w.FinishStep(w.ctx, l, c.Request, c.N, "ended"))
	},
	"what a request has left behind is forgotten": func(w *world) {
		o, l := w.offer(fika.Unsafe, fika.Unsafe), w.executor()
		c := must(w.ClaimStep(w.ctx, l))(w)
		w.ok(w.RenewExecutor(w.ctx, l, time.Minute))
		other := o.steps[1-slices.IndexFunc(o.steps, func(s fika.Step) bool { return s.N == c.N })]
		left := func(n int) bool {
			_, known, err := w.Execution(w.ctx, c.Request, n)
			w.ok(err)
			return known
		}
		equal(w, "while it runs", left(other.N), true)
		w.fail(o.claimed, fika.RequestFailed)
		w.ok(w.RenewExecutor(w.ctx, l, time.Minute))
		equal(w, "offered", left(other.N), false)
		equal(w, "claimed", left(c.N), true)
	},
	"a request that has ended takes no result": func(w *world) {
		o, l := w.offer(fika.Unsafe), w.executor()
		c := must(w.ClaimStep(w.ctx, l))(w)
		w.fail(o.claimed, fika.RequestFailed)
		equal(w, "told", must(w.StepsOf(w.ctx, l))(w)[0].Canceled, true)
		w.refused(w.FinishStep(w.ctx, l, c.Request, c.N, "late"), fika.Lost)
		_, known, err := w.Execution(w.ctx, c.Request, c.N)
		w.ok(err)
		equal(w, "left", known, false)
	},
}
