package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
	"fika/internal/tool"
)

// Executor describes the process that runs tool steps for a turn; it finds them in the
// store.
type Executor struct {
	ID    string                 // in the store
	Name  string                 // the name people know it by
	Host  string                 // that of its host; empty: this one
	Takes func(name string) bool // reports which tools go to it
	Wake  func()                 // tells it to look; may do nothing
}

// Executions reads and writes the steps that go to an executor.
type Executions interface {
	OfferTool(ctx context.Context, f store.Fence, n int, preHash string, under fika.Mode, executor, call string) (store.Signal, error)
	Execution(ctx context.Context, id fika.RequestID, n int) (store.Execution, bool, error)
	Withdraw(ctx context.Context, id fika.RequestID, n int) error
	Executor(ctx context.Context, id string) (store.ExecutorRow, error)
}

// OfferedCall is what an executor is given to run a step, besides what the store holds
// about the step and its request.
type OfferedCall struct {
	Args      json.RawMessage `json:"args"` // as hooks and people have left them
	Workspace string          `json:"workspace"`
	Username  string          `json:"username,omitempty"`
	Tainted   bool            `json:"tainted,omitempty"`
	Opened    []string        `json:"opened,omitempty"` // protected files that it may change
	// Agreed says that the person at the terminal was asked and said yes.
	Agreed bool `json:"agreed,omitempty"`
	// Bound is what the yes is bound to, as [guard.ParseBound] reads it.
	Bound string `json:"bound,omitempty"`
}

const (
	// executorLook is the first pause between two looks for a result, executorLookMost
	// the longest.
	executorLook, executorLookMost = 5 * time.Millisecond, 200 * time.Millisecond
	// executorMissed is how long a call waits for a taker before the person is told,
	// executorMissedAgain how long until they are told again.
	executorMissed, executorMissedAgain = 2 * time.Second, 30 * time.Second
	// executorGrace is how long an executor has to end a call that is no longer wanted.
	executorGrace = 10 * time.Second
)

// goesOut reports whether a job is for an executor: either the executor takes its tool,
// or the job was already handed over.
func (t *toolCalls) goesOut(j *job) bool {
	return j.handed || t.executor.Takes != nil && t.executor.Takes(j.step.Tool)
}

// wasHanded reports whether a step that had begun when its owner died is with an
// executor, where it goes on.
func (t *toolCalls) wasHanded(ctx context.Context, j *job) (bool, error) {
	if t.executions == nil || j.step.State != fika.StepStarted {
		return false, nil
	}
	err := t.retry.readAgain(ctx, func(ctx context.Context) (err error) {
		_, j.handed, err = t.executions.Execution(ctx, t.fence.Request, j.step.N)
		return err
	})
	return j.handed, err
}

// offer begins a step by giving it to the executor.
func (t *toolCalls) offer(ctx context.Context, j *job, pre string) (sig store.Signal, err error) {
	given := OfferedCall{
		Args: j.call.Args, Workspace: j.call.Workspace, Username: j.call.Username, Tainted: t.exposure.taint.Tainted(), Opened: j.opened.Files,
	}
	if j.ask != nil && t.isForeground() {
		given.Agreed, given.Bound = true, j.ask.Verdict.Bound.String()
	}
	call, err := json.Marshal(given)
	if err != nil {
		return sig, err
	}
	err = t.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		sig, err = t.executions.OfferTool(ctx, t.fence, j.step.N, pre, j.call.Mode, t.executor.ID, string(call))
		return err
	})
	if err == nil && t.executor.Wake != nil {
		t.executor.Wake()
	}
	return sig, err
}

// await waits for the executor's result of a step. When ctx ends, it withdraws the call,
// unless another process has taken the request over.
func (t *toolCalls) await(ctx context.Context, j *job) (tool.Result, error) {
	wait := executorLook
	said := time.Now().Add(executorMissed - executorMissedAgain)
	var x store.Execution
	for {
		var known bool
		err := t.retry.readAgain(ctx, func(ctx context.Context) (err error) {
			x, known, err = t.executions.Execution(ctx, t.fence.Request, j.step.N)
			return err
		})
		switch {
		case err != nil && ctx.Err() == nil:
			return tool.Result{}, err
		case err == nil && !known:
			return tool.Result{IsError: true, Unknown: true, Text: "interrupted: what the executor did of it is not known; check before doing it again"}, nil
		case err == nil && x.State == store.ExecutionDone:
			return readResult(x.Result), nil
		}
		if time.Since(said) > executorMissedAgain {
			said = time.Now()
			t.tellAwaited(ctx, x)
		}
		if sleep.For(ctx, wait) != nil {
			return t.withdraw(ctx, j)
		}
		wait = min(2*wait, executorLookMost)
	}
}

// readResult parses the result that an executor wrote. Text that cannot be parsed
// becomes an error result of unknown effect.
func readResult(text string) tool.Result {
	var r tool.Result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return tool.Result{IsError: true, Unknown: true, Text: "interrupted: what the executor answered cannot be read"}
	}
	return r
}

// tellAwaited warns the person that a call waits because nobody runs its executor.
func (t *toolCalls) tellAwaited(ctx context.Context, x store.Execution) {
	e, err := t.executions.Executor(ctx, x.Executor)
	if err != nil || time.Until(e.LeaseUntil) > 0 {
		return
	}
	name, there := t.executor.Name, ""
	if t.executor.Host != "" {
		name, there = name+" of the host "+t.executor.Host, " there"
	}
	what := "which is not running"
	if x.State == store.ExecutionClaimed {
		what = "which ended in the middle of the call"
	}
	t.observeEvent(Event{Kind: Warning, Text: fmt.Sprintf("a tool call waits for the executor %s, %s: %s starts it%s", name, what, hint.Executor.With(t.executor.Name), there)})
}

// withdraw marks a call as no longer wanted and waits up to executorGrace for it to end.
func (t *toolCalls) withdraw(ctx context.Context, j *job) (tool.Result, error) {
	if fika.IsKind(context.Cause(ctx), fika.Lost) {
		return tool.Result{}, context.Cause(ctx)
	}
	safe, cancel := context.WithTimeout(context.WithoutCancel(ctx), executorGrace)
	defer cancel()
	if err := t.executions.Withdraw(safe, t.fence.Request, j.step.N); err != nil {
		return tool.Result{}, err
	}
	for wait := executorLook; ; wait = min(2*wait, executorLookMost) {
		x, known, err := t.executions.Execution(safe, t.fence.Request, j.step.N)
		switch {
		case err == nil && known && x.State == store.ExecutionDone:
			return readResult(x.Result), nil
		case err == nil && known && x.State == store.ExecutionWithdrawn:
			return tool.Result{IsError: true, Text: "not run: no executor had taken it when the turn was ended"}, nil
		case err == nil && !known, sleep.For(safe, wait) != nil:
			return tool.Result{}, context.Cause(ctx)
		}
	}
}
