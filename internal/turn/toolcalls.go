package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/rights/guard"
	"fika/internal/store"
	"fika/internal/tool"
)

// ToolSteps makes the fenced writes about tool calls.
type ToolSteps interface {
	BeginTool(ctx context.Context, f store.Fence, n int, preHash string, under fika.Mode) (store.Signal, error)
	RecordProcess(ctx context.Context, f store.Fence, n int, p fika.Process) error
	CommitTool(ctx context.Context, f store.Fence, n int, c store.ToolCommit) (fika.Entry, error)
}

// toolCalls begins, makes and records the tool calls that have been let through.
type toolCalls struct {
	*assignment
	*progress
	signals  *signals
	exposure *exposure
	permits  *permits
	gate     *gate
	store    ToolSteps
	bounds   Bounds
	hooks    hook.Runner
	guard    Guard
	ask      func(context.Context, Question) error // asks the person at the terminal; nil: nobody is there
	template tool.Call                             // what every call carries

	executor   Executor
	executions Executions // nil: there is no executor
}

// beginTool commits that a step begins, unless the step already has its result.
func (t *toolCalls) beginTool(ctx context.Context, j *job) error {
	if j.result != nil {
		return nil
	}
	if ctx.Err() != nil {
		return t.signals.interruptedBy(ctx)
	}
	out := t.goesOut(j)
	pre := t.targetHash(ctx, j) // with the arguments as the hooks left them
	if !j.handed {
		if j.result = ResultAfterCrash(j.step, pre); j.result != nil {
			return nil
		}
	}
	var asked time.Time
	for moved := true; moved; {
		asked = time.Now()
		sig, err := t.commitBegin(ctx, j, pre, out)
		if err == nil {
			err = t.signals.applySignal(ctx, sig)
		}
		if err != nil {
			return err
		}
		if moved = sig.Moved; moved {
			if t.judgeUnder(ctx, j, sig.Mode); j.result != nil {
				return nil
			}
		}
	}
	if elapsed(asked) >= unsure { // the step stays begun only for a turn that has lost its agent
		if _, err := t.signals.ask(ctx); err != nil {
			return err
		}
	}
	t.observeEvent(Event{Kind: ToolCalled, Tool: j.step.Tool, CallID: j.step.CallID, N: j.step.N, Args: j.call.Args, Round: j.step.Round})
	return nil
}

// judgeUnder judges a call again that has not begun, because another mode holds now.
func (t *toolCalls) judgeUnder(ctx context.Context, j *job, mode fika.Mode) {
	t.mode, j.call.Mode, j.handed = mode, mode, false
	if t.bounds != nil {
		j.call.Confine = t.bounds.Confine(t.permits.confined(), j.opened)
	}
	t.gate.judgeAgain(ctx, j)
}

// commitBegin commits that a step begins, in this process or with the executor.
func (t *toolCalls) commitBegin(ctx context.Context, j *job, pre string, out bool) (sig store.Signal, err error) {
	if out {
		j.handed = true
		return t.offer(ctx, j, pre)
	}
	err = t.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		sig, err = t.store.BeginTool(ctx, t.fence, j.step.N, pre, j.call.Mode)
		return err
	})
	return sig, err
}

// toolCall returns the call as the tool will be given it.
func (t *toolCalls) toolCall(ctx context.Context, j *job) tool.Call {
	t.permits.boundNow(ctx)
	call, s := t.template, j.step
	if t.bounds != nil {
		call.Confine = t.bounds.Confine(t.permits.confined(), Opened{})
	}
	call.Rights, call.Taint, call.Mode = t.permits.passedRights(), t.exposure.taint.From, t.mode
	call.Skills = t.loadedSkills()
	call.Step = fmt.Sprintf("%s/%d", t.fence.Request, s.N)
	call.CallID, call.Name = s.CallID, s.Tool
	call.Request, call.Chain, call.Depth = t.fence.Request, t.claimed.Request.Chain, t.claimed.Request.Depth
	call.Args = json.RawMessage(t.argumentsOf(s))
	call.Started = func(p fika.Process) {
		// Runs while the process is already at work. Recovery also finds it by its mark,
		// so a failure here costs nothing.
		j.noting.Go(func() { _ = t.store.RecordProcess(context.WithoutCancel(ctx), t.fence, s.N, p) })
	}
	call.Progress = func(b []byte) {
		t.observeEvent(Event{Kind: ToolOutput, Tool: s.Tool, CallID: s.CallID, N: s.N, Text: string(b)})
	}
	return call
}

// targetHash returns the hash of what a verifiable call would change; empty if the call
// is not verifiable or the hash cannot be taken.
func (t *toolCalls) targetHash(ctx context.Context, j *job) string {
	if j.tool == nil {
		return ""
	}
	if isCheck(j.step) {
		return j.files
	}
	v, ok := tool.VerifierOf(j.tool)
	if !ok {
		return ""
	}
	h, err := v.Hash(ctx, j.call)
	if err != nil {
		return ""
	}
	return h
}

// callAll runs the jobs of a batch that have no result yet.
func (t *toolCalls) callAll(ctx context.Context, batch []*job) {
	if len(batch) == 1 {
		t.callOne(ctx, batch[0])
		return
	}
	var g errgroup.Group
	g.SetLimit(maxParallel)
	for _, j := range batch {
		g.Go(func() error { t.callOne(ctx, j); return nil })
	}
	_ = g.Wait()
}

// callOne runs one tool. Errors become results, because the model has to know of them.
func (t *toolCalls) callOne(ctx context.Context, j *job) {
	if j.result != nil {
		return
	}
	r, err := t.run(ctx, j)
	if err == nil && r.Offline && !j.handed && t.mayGoOnline(ctx, j) {
		r, err = t.callOnline(ctx, j)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		r = tool.Result{IsError: true, Unknown: true, Text: "interrupted: it was ended before it was done"}
	case errors.Is(err, context.DeadlineExceeded):
		r = tool.Result{IsError: true, Unknown: true, Text: "ended: it took too long"}
	default:
		r = tool.Errorf(err.Error())
	}
	if isCheck(j.step) {
		t.sameFiles(ctx, j, &r)
	}
	j.result = &r
	t.firePostTool(ctx, j)
}

// run makes a call, or waits for the executor that makes it.
func (t *toolCalls) run(ctx context.Context, j *job) (tool.Result, error) {
	if j.handed {
		return t.await(ctx, j)
	}
	r, err := j.tool.Call(ctx, j.call)
	j.noting.Wait()
	return r, err
}

// mayGoOnline asks the person at the terminal whether a call that failed for want of the
// network may be made once more with it. In a turn that has read text from outside
// nobody is asked, because the call might carry what it read out.
func (t *toolCalls) mayGoOnline(ctx context.Context, j *job) bool {
	if t.ask == nil || t.bounds == nil || t.permits.rights == nil || !t.isForeground() || t.exposure.taint.Tainted() {
		return false
	}
	bind := func() guard.Bound {
		if t.guard == nil {
			return nil
		}
		return t.guard.Bind(ctx, j.call)
	}
	v := Verdict{
		Do: guard.Ask, What: "the network",
		Rule:  "the network that it has not ([guard] network), and failed without; yes runs it once more, with it",
		Bound: bind(),
	}
	for q := (Question{Call: j.call, Verdict: v}); ; {
		if t.ask(ctx, q) != nil {
			return false
		}
		now := bind()
		if q.Changed = now.Differences(q.Verdict.Bound); len(q.Changed) == 0 {
			return true
		}
		q.Verdict.Bound = now
	}
}

// callOnline makes a call once more, with the network.
func (t *toolCalls) callOnline(ctx context.Context, j *job) (tool.Result, error) {
	online := *t.permits.rights
	online.Network = true
	call := j.call
	call.Confine = t.bounds.Confine(&online, j.opened)
	r, err := j.tool.Call(ctx, call)
	j.noting.Wait()
	r.Text = "(it failed without the network, and a person let it run once more, with it)\n" + r.Text
	return r, err
}

func (t *toolCalls) firePostTool(ctx context.Context, j *job) {
	_, err := t.hooks.Fire(context.WithoutCancel(ctx), hook.PostTool, hook.Payload{
		"tool_name": j.step.Tool, "arguments": j.call.Args, "result": j.result.Text,
	})
	if err != nil {
		t.observeEvent(Event{Kind: Warning, Text: err.Error()})
	}
}

// commitResult stores a result. Results go to the model in the order of the calls.
func (t *toolCalls) commitResult(ctx context.Context, j *job) error {
	c := store.ToolCommit{Text: j.result.Text, IsError: j.result.IsError, Interrupted: j.result.Unknown, Sandbox: j.result.Tier, Executed: j.handed, Origin: j.origin, Attachments: j.result.Attachments}
	t.exposure.noteTaint(fika.Taint{From: j.result.Taint})
	c.Taint = t.exposure.taint
	if j.result.Taint != "" {
		c.Taint.Seq = 0 // this result brings it in
	}
	if j.tool != nil && !j.result.IsError {
		c.PostHash = t.targetHash(context.WithoutCancel(ctx), j)
	}
	var entry fika.Entry
	err := t.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		entry, err = t.store.CommitTool(ctx, t.fence, j.step.N, c)
		return err
	})
	if err != nil {
		return err
	}
	t.own = append(t.own, entry)
	if n := len(t.rounds); n > 0 {
		t.rounds[n-1].countResult(j.result.IsError, j.result.Unknown)
	}
	t.used = append(t.used, fika.ToolUsed{Tool: j.step.Tool, File: j.result.File, Success: !j.result.IsError})
	t.observeEvent(Event{Kind: ToolDone, Tool: j.step.Tool, CallID: j.step.CallID, N: j.step.N, Result: j.result, Round: j.step.Round, Args: j.call.Args})
	t.observeEvent(Event{Kind: Committed, Entries: []fika.Entry{entry}, Round: j.step.Round})
	return nil
}

// recordFirst commits the result of the first pending step; worked reports whether the
// call succeeded.
func (t *toolCalls) recordFirst(ctx context.Context, j *job) (worked bool, err error) {
	if err := t.commitResult(ctx, j); err != nil {
		return false, err
	}
	t.pending = t.pending[1:]
	return !j.result.IsError, nil
}

// ResultAfterCrash returns the result of a verifiable call that had begun when its owner
// died, unless its target is known to be unchanged since. It returns nil for every other
// call, which may be run (again).
func ResultAfterCrash(s fika.Step, now string) *tool.Result {
	if s.State != fika.StepStarted || s.Effect != fika.Verifiable || s.PreHash != "" && s.PreHash == now {
		return nil
	}
	return &tool.Result{IsError: true, Unknown: true,
		Text: "interrupted: the target has changed since the call began, so it has probably happened; check before doing it again"}
}
