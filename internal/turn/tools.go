package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"fika"
	"fika/internal/hook"
	"fika/internal/store"
	"fika/internal/tool"
)

const maxParallel = 8

// job is one tool step on its way: planned, begun, called, recorded. A job
// that has its result before it is called is not called.
type job struct {
	step   fika.Step
	tool   tool.Tool
	call   tool.Call
	result *tool.Result
	ask    *Question      // what a person has to be asked before it is run
	noting sync.WaitGroup // the process is being recorded
}

// runTools settles every pending tool step, in order; consecutive calls that
// may run side by side do.
func (w *attempt) runTools(ctx context.Context) error {
	if len(w.pending) == 0 {
		return nil
	}
	worked := false
	for len(w.pending) > 0 {
		if w.isDelegated(w.pending[0]) {
			ok, err := w.runDelegated(ctx)
			if err != nil {
				return err
			}
			worked = worked || ok
			continue
		}
		batch := w.nextBatch()
		for _, j := range batch {
			if err := w.prepareTool(ctx, j); err != nil {
				return err
			}
		}
		if err := w.askAbout(ctx, batch); err != nil {
			return err
		}
		for _, j := range batch {
			if err := w.beginTool(ctx, j); err != nil {
				return err
			}
		}
		w.callAll(ctx, batch)
		for _, j := range batch {
			ok, err := w.recordFirst(ctx, j)
			if err != nil {
				return err
			}
			worked = worked || ok
		}
		if ctx.Err() != nil {
			return w.interrupted(ctx)
		}
	}
	if worked {
		w.errors = 0
	} else if w.errors++; w.errors >= maxAllErrors {
		return &ending{state: fika.RequestFailed, kind: fika.Limit,
			reason: fmt.Sprintf("every tool call failed, %d rounds in a row", w.errors)}
	}
	return nil
}

// nextBatch is the first step, or those the pending ones begin with that may
// run side by side.
func (w *attempt) nextBatch() []*job {
	batch := []*job{{step: w.pending[0]}}
	for _, s := range w.pending[1:] {
		if !w.sideBySide(w.pending[0]) || !w.sideBySide(s) || len(batch) == maxParallel {
			break
		}
		batch = append(batch, &job{step: s})
	}
	return batch
}

// sideBySide reports whether a call may run beside others: a pure one, and one
// of a tool that says so.
func (w *attempt) sideBySide(s fika.Step) bool {
	if s.Effect == fika.Pure {
		return true
	}
	t, err := w.cfg.Tools.Find(s.Tool)
	return err == nil && t.Spec().Parallel
}

// prepareTool settles what will be run. A job that is not to be run gets its
// result here: interrupted by a crash, refused, or senseless.
func (w *attempt) prepareTool(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return w.interrupted(ctx)
	}
	j.call = w.toolCall(ctx, j)
	if j.step.N == w.cutStep {
		j.result = &tool.Result{IsError: true, Text: "not run: the provider cut the arguments off at its output limit; send the call again, shorter"}
		return nil
	}
	if j.step.State == fika.StepStarted && orUnsafe(j.step.Effect) == fika.Unsafe {
		j.result = &tool.Result{IsError: true, Unknown: true, Text: "interrupted: it may or may not have run; check what it did before doing it again"}
		return nil
	}
	w.judge(ctx, j)
	return nil
}

// beginTool commits that a step begins, unless it has its result already.
func (w *attempt) beginTool(ctx context.Context, j *job) error {
	if j.result != nil {
		return nil
	}
	if ctx.Err() != nil {
		return w.interrupted(ctx)
	}
	pre := w.targetHash(ctx, j) // of what the hooks left of the call
	if j.result = resultAfterCrash(j.step, pre); j.result != nil {
		return nil
	}
	var sig store.Signal
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		sig, err = w.cfg.Store.BeginTool(ctx, w.fence, j.step.N, pre)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.applySignal(ctx, sig); err != nil {
		return err
	}
	w.tell(Event{Kind: ToolCalled, Tool: j.step.Tool, CallID: j.step.CallID, N: j.step.N, Args: j.call.Args, Round: j.step.Round})
	return nil
}

// checkCall finds the tool and looks at permission and arguments.
func (w *attempt) checkCall(j *job) *tool.Result {
	t, err := w.cfg.Tools.Find(j.step.Tool)
	if err == nil {
		err = w.beyond(j.step.Tool)
	}
	if err == nil {
		j.tool = t
		err = w.cfg.Tools.Validate(t, j.call.Args)
	}
	if err != nil {
		r := tool.Refusal(err)
		return &r
	}
	return nil
}

// resultAfterCrash decides what becomes of a call that had begun when its owner died
// and that may be repeated; nil means: run it (again).
func resultAfterCrash(s fika.Step, now string) *tool.Result {
	if s.State != fika.StepStarted || s.Effect != fika.Verifiable || s.PreHash != "" && s.PreHash == now {
		return nil
	}
	return &tool.Result{IsError: true, Unknown: true,
		Text: "interrupted: the target has changed since the call began, so it has probably happened; check before doing it again"}
}

// toolCall is what the tool will be given.
func (w *attempt) toolCall(ctx context.Context, j *job) tool.Call {
	w.boundNow(ctx)
	call, s := w.cfg.Call, j.step
	if w.cfg.Bounds != nil {
		call.Confine = w.cfg.Bounds.Confine(w.rights)
	}
	call.Rights, call.Taint = w.passed(), w.taint.From
	call.Step = fmt.Sprintf("%s/%d", w.fence.Request, s.N)
	call.CallID, call.Name = s.CallID, s.Tool
	call.Request, call.Chain, call.Depth = w.fence.Request, w.claimed.Request.Chain, w.claimed.Request.Depth
	call.Args = json.RawMessage(w.argsOf(s))
	call.Started = func(p fika.Process) {
		// Beside the process, which is at work already. Recovery also finds it
		// by its mark: a failure here costs nothing.
		j.noting.Go(func() { _ = w.cfg.Store.RecordProcess(context.WithoutCancel(ctx), w.fence, s.N, p) })
	}
	call.Progress = func(b []byte) {
		w.tell(Event{Kind: ToolOutput, Tool: s.Tool, CallID: s.CallID, N: s.N, Text: string(b)})
	}
	return call
}

// argsOf gives the arguments as the model wrote them; none at all is {}.
func (w *attempt) argsOf(s fika.Step) string {
	for i := range w.own {
		if w.own[i].ID == s.CallEntry && w.own[i].Content != "" {
			return w.own[i].Content
		}
	}
	return "{}"
}

// preTool lets hooks change the arguments or refuse the call.
func (w *attempt) preTool(ctx context.Context, j *job) *tool.Result {
	out, err := w.cfg.Hooks.Fire(ctx, hook.PreTool, hook.Payload{"tool_name": j.call.Name, "arguments": j.call.Args})
	if err != nil {
		return &tool.Result{IsError: true, Denied: true, Text: "refused: " + err.Error()}
	}
	if block, _ := out["block"].(bool); block {
		why, _ := out["message"].(string)
		return &tool.Result{IsError: true, Denied: true, Text: "refused by a hook: " + orElse(why, "no reason given")}
	}
	raw, err := json.Marshal(out["arguments"])
	if err != nil || out["arguments"] == nil || bytes.Equal(raw, j.call.Args) {
		return nil
	}
	j.call.Args = raw
	return w.checkCall(j)
}

// targetHash is the state of what a verifiable call would change, or "".
func (w *attempt) targetHash(ctx context.Context, j *job) string {
	if j.tool == nil {
		return ""
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
func (w *attempt) callAll(ctx context.Context, batch []*job) {
	if len(batch) == 1 {
		w.callOne(ctx, batch[0])
		return
	}
	var g errgroup.Group
	g.SetLimit(maxParallel)
	for _, j := range batch {
		g.Go(func() error { w.callOne(ctx, j); return nil })
	}
	_ = g.Wait()
}

// callOne runs one tool. What goes wrong is a result: the model has to know.
func (w *attempt) callOne(ctx context.Context, j *job) {
	if j.result != nil {
		return
	}
	r, err := j.tool.Call(ctx, j.call)
	j.noting.Wait()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		r = tool.Result{IsError: true, Unknown: true, Text: "interrupted: it was ended before it was done"}
	case errors.Is(err, context.DeadlineExceeded):
		r = tool.Result{IsError: true, Unknown: true, Text: "ended: it took too long"}
	default:
		r = tool.Errorf(err.Error())
	}
	j.result = &r
	w.postTool(ctx, j)
}

func (w *attempt) postTool(ctx context.Context, j *job) {
	_, err := w.cfg.Hooks.Fire(context.WithoutCancel(ctx), hook.PostTool, hook.Payload{
		"tool_name": j.step.Tool, "arguments": j.call.Args, "result": j.result.Text,
	})
	if err != nil {
		w.tell(Event{Kind: Warning, Text: err.Error()})
	}
}

// commitResult stores a result; results go to the model in the order of the calls.
func (w *attempt) commitResult(ctx context.Context, j *job) error {
	c := store.ToolCommit{Text: j.result.Text, IsError: j.result.IsError, Interrupted: j.result.Unknown, Sandbox: j.result.Tier}
	w.noteTaint(fika.Taint{From: j.result.Taint})
	c.Taint = w.taint
	if j.result.Taint != "" {
		c.Taint.Seq = 0 // it is what brings it in
	}
	if j.tool != nil && !j.result.IsError {
		c.PostHash = w.targetHash(context.WithoutCancel(ctx), j)
	}
	var entry fika.Entry
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		entry, err = w.cfg.Store.CommitTool(ctx, w.fence, j.step.N, c)
		return err
	})
	if err != nil {
		return err
	}
	w.own = append(w.own, entry)
	w.used = append(w.used, fika.ToolUsed{Tool: j.step.Tool, File: j.result.File, Success: !j.result.IsError})
	w.tell(Event{Kind: ToolDone, Tool: j.step.Tool, CallID: j.step.CallID, N: j.step.N, Result: j.result, Round: j.step.Round, Args: j.call.Args})
	w.tell(Event{Kind: Committed, Entries: []fika.Entry{entry}, Round: j.step.Round})
	return nil
}
