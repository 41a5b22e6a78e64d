package turn

import (
	"context"
	"fmt"
	"strings"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
)

// TaskWaits suspends requests that wait for tasks of the board.
type TaskWaits interface {
	AwaitTasks(context.Context, store.Fence, store.TaskWait) (store.WaitedFor, error)
}

// taskWaits makes the calls that wait for tasks of the board.
type taskWaits struct {
	*assignment
	*progress
	signals *signals
	gate    *gate
	calls   *toolCalls
	store   TaskWaits
	tools   *tool.Set
}

// waiter returns the tool of a step that waits, in a turn that can be suspended.
func (w *taskWaits) waiter(s fika.Step) (tool.Waiter, bool) {
	if s.N == w.cutStep || w.isForeground() {
		return nil, false
	}
	t, err := w.tools.Find(s.Tool)
	if err != nil {
		return nil, false
	}
	return tool.WaiterOf(t)
}

// run settles the waiting step at the head of the pending ones: it has its result once
// nothing of what it waits for goes on, or its time is over. Worked reports whether it
// succeeded.
func (w *taskWaits) run(ctx context.Context, t tool.Waiter) (worked bool, _ error) {
	if _, err := w.signals.ask(ctx); err != nil { // nothing checks the mode again
		return false, err
	}
	j := &job{step: w.pending[0]}
	j.call = w.calls.toolCall(ctx, j)
	if j.step.State == fika.StepPlanned {
		w.gate.judgeCall(ctx, j)
		if err := w.gate.askAbout(ctx, []*job{j}); err != nil {
			return false, err
		}
	}
	if j.result == nil {
		if err := w.await(ctx, t, j); err != nil {
			return false, err
		}
	}
	return w.calls.recordFirst(ctx, j)
}

// await gives a call its result, or releases the request until it can have one.
func (w *taskWaits) await(ctx context.Context, t tool.Waiter, j *job) error {
	wants, err := t.Wait(ctx, j.call)
	if err != nil {
		r := tool.Refusal(err)
		j.result = &r
		return nil
	}
	var got store.WaitedFor
	err = w.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		got, err = w.store.AwaitTasks(ctx, w.fence, store.TaskWait{N: j.step.N, Tasks: wants.Tasks, For: wants.For})
		return err
	})
	switch {
	case fika.IsKind(err, fika.NotFound), fika.IsKind(err, fika.Invalid):
		r := tool.Refusal(err)
		j.result = &r
		return nil
	case err != nil:
		return err
	}
	if err := w.signals.applySignal(ctx, got.Signal); err != nil {
		return err
	}
	if j.step.State == fika.StepPlanned {
		w.observeEvent(Event{Kind: ToolCalled, Tool: j.step.Tool, CallID: j.step.CallID, N: j.step.N, Args: j.call.Args, Round: j.step.Round})
	}
	if got.Waiting {
		var list []string
		for _, task := range got.Tasks {
			if !task.State.Ended() && task.State != fika.TaskHeld {
				list = append(list, fmt.Sprintf("task %d", task.Number))
			}
		}
		return &released{Result{State: fika.Waiting, Reason: "waiting for " + strings.Join(list, ", ")}}
	}
	r := t.Waited(ctx, j.call, got.Over)
	j.result = &r
	w.calls.firePostTool(ctx, j)
	return nil
}
