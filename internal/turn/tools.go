package turn

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"fika"
	"fika/internal/tool"
)

const maxParallel = 8

// job is one tool step on its way: planned, begun, called, recorded. A job that has its
// result before it is called is not called.
type job struct {
	step   fika.Step
	tool   tool.Tool
	call   tool.Call
	result *tool.Result
	ask    *Question // what a person has to be asked before it runs
	opened Opened
	handed bool           // an executor has it
	origin string         // what made the call, if not the model
	files  string         // of a check: what it must leave as it is
	noting sync.WaitGroup // the process is being recorded
}

// toolRound settles the calls that a model call has planned.
type toolRound struct {
	*progress
	signals      *signals
	gate         *gate
	calls        *toolCalls
	delegations  *delegations
	waits        *taskWaits
	tools        *tool.Set
	failedRounds int // consecutive rounds in which every call failed
}

// runTools settles every pending tool step, in order; consecutive calls that may run in
// parallel do.
func (r *toolRound) runTools(ctx context.Context) error {
	if len(r.pending) == 0 {
		return nil
	}
	worked := false
	defer r.startAhead(ctx)()
	for len(r.pending) > 0 {
		if r.delegations.isDelegated(r.pending[0]) {
			ok, err := r.delegations.runDelegated(ctx)
			if err != nil {
				return err
			}
			worked = worked || ok
			continue
		}
		if t, ok := r.waits.waiter(r.pending[0]); ok {
			ok, err := r.waits.run(ctx, t)
			if err != nil {
				return err
			}
			worked = worked || ok
			continue
		}
		batch := r.nextBatch()
		for _, j := range batch {
			if err := r.prepareTool(ctx, j); err != nil {
				return err
			}
		}
		if err := r.gate.askAbout(ctx, batch); err != nil {
			return err
		}
		for _, j := range batch {
			if err := r.calls.beginTool(ctx, j); err != nil {
				return err
			}
		}
		r.calls.callAll(ctx, batch)
		if ctx.Err() != nil && isCheck(batch[0].step) { // whoever has the turn next runs it again
			return r.signals.interruptedBy(ctx)
		}
		for _, j := range batch {
			ok, err := r.calls.recordFirst(ctx, j)
			if err != nil {
				return err
			}
			worked = worked || ok
		}
		if ctx.Err() != nil {
			return r.signals.interruptedBy(ctx)
		}
	}
	if worked {
		r.failedRounds = 0
	} else if r.failedRounds++; r.failedRounds >= maxAllErrors {
		return &ending{state: fika.RequestFailed, kind: fika.Limit,
			reason: fmt.Sprintf("every tool call failed, %d rounds in a row", r.failedRounds)}
	}
	return nil
}

// startAhead lets the tools of several pending calls get ready side by side, if nothing
// speaks against the calls: one after another the calls would wait for each. The caller
// must call the returned function, which waits for them.
func (r *toolRound) startAhead(ctx context.Context) (wait func()) {
	if len(r.pending) < 2 {
		return func() {}
	}
	var all errgroup.Group
	all.SetLimit(maxParallel)
	for _, s := range r.pending {
		t, err := r.tools.Find(s.Tool)
		if err != nil || s.State != fika.StepPlanned {
			continue
		}
		starter, ok := tool.StarterOf(t)
		if !ok {
			continue
		}
		j := &job{step: s}
		j.call = r.calls.toolCall(ctx, j)
		if !r.calls.goesOut(j) && r.gate.mayRun(ctx, j) {
			all.Go(func() error { starter.Start(ctx, j.call); return nil })
		}
	}
	return func() { _ = all.Wait() }
}

// nextBatch returns the first pending step, or the leading steps that may run in
// parallel.
func (r *toolRound) nextBatch() []*job {
	batch := []*job{{step: r.pending[0]}}
	for _, next := range r.pending[1:] {
		if !r.sideBySide(r.pending[0]) || !r.sideBySide(next) || len(batch) == maxParallel {
			break
		}
		batch = append(batch, &job{step: next})
	}
	return batch
}

// sideBySide reports whether a call may run in parallel with others: its effect is pure,
// or its tool says so.
func (r *toolRound) sideBySide(s fika.Step) bool {
	if s.Effect == fika.Pure {
		return true
	}
	t, err := r.tools.Find(s.Tool)
	return err == nil && t.Spec().Parallel
}

// prepareTool settles what a job will run. A job that is not to be run gets its result
// here: its arguments were cut off, a crash interrupted it, or it was refused.
func (r *toolRound) prepareTool(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return r.signals.interruptedBy(ctx)
	}
	if err := r.signals.readMode(ctx); err != nil {
		return err
	}
	j.call = r.calls.toolCall(ctx, j)
	if isCheck(j.step) {
		return r.prepareCheck(ctx, j)
	}
	if j.step.N == r.cutStep {
		j.result = &tool.Result{IsError: true, Text: "not run: the provider cut the arguments off at its output limit; send the call again, shorter"}
		return nil
	}
	if handed, err := r.calls.wasHanded(ctx, j); err != nil || handed {
		j.tool, _ = r.tools.Find(j.step.Tool) // the tool may be gone by now
		return err
	}
	if j.step.State == fika.StepStarted && cmp.Or(j.step.Effect, fika.Unsafe) == fika.Unsafe {
		j.result = &tool.Result{IsError: true, Unknown: true, Text: "interrupted: it may or may not have run; check what it did before doing it again"}
		return nil
	}
	r.gate.judgeCall(ctx, j)
	return nil
}

// prepareCheck settles whether the check of a task is run: as a command of the agent, under
// its rules. Nobody is asked about one that a person has written.
func (r *toolRound) prepareCheck(ctx context.Context, j *job) error {
	j.origin = fika.CheckOrigin
	if handed, err := r.calls.wasHanded(ctx, j); err != nil || handed {
		j.tool, _ = r.tools.Find(j.step.Tool)
		return err
	}
	check, err := r.calls.taskCheck(ctx)
	if err != nil {
		return err
	}
	r.gate.judgeCall(ctx, j)
	if j.ask != nil && check.ByPerson {
		r.gate.open(j, j.ask.Verdict)
		j.ask = nil
	}
	if r.cannotCheck = ""; j.result != nil {
		r.cannotCheck = j.result.Text
		return nil
	}
	r.calls.readFiles(ctx, j)
	return nil
}
