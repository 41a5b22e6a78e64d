package turn

import (
	"context"
	"strings"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
)

// maxChildren is how many tasks a turn waits for at once; further calls follow.
const maxChildren = 64

// isDelegated reports whether a step is another agent's work. One that was
// started has its child already; one that is planned needs a tool that may be
// used, and a request that can be suspended.
func (w *attempt) isDelegated(s fika.Step) bool {
	if s.N == w.cutStep || w.claimed.Request.Origin == fika.Foreground {
		return false
	}
	if _, ok := w.cfg.Tools.Delegator(s.Tool); !ok {
		return false
	}
	if s.State == fika.StepStarted {
		return s.PreHash == string(store.ChildID(w.fence.Request, s.N))
	}
	return w.cfg.Tools.Check(s.Tool) == nil && w.beyond(s.Tool) == nil
}

// runDelegated settles the delegate steps that come first: it reports what came
// of those that are under way, and gives the others to their agents. Worked is
// true when one of them succeeded.
func (w *attempt) runDelegated(ctx context.Context) (worked bool, _ error) {
	if ctx.Err() != nil {
		return false, w.interrupted(ctx)
	}
	var batch []*job
	for _, s := range w.pending {
		if !w.isDelegated(s) || len(batch) == maxChildren {
			break
		}
		batch = append(batch, &job{step: s})
	}
	if err := w.awaitChildren(ctx, batch); err != nil {
		return false, err
	}
	list, err := w.delegations(ctx, batch)
	if err != nil {
		return false, err
	}
	for len(batch) > 0 { // what is known goes first; nothing is asked twice
		if batch[0].result == nil {
			if err := w.createChildren(ctx, batch, list); err != nil {
				return worked, err
			}
		}
		ok, err := w.recordFirst(ctx, batch[0])
		if err != nil {
			return worked, err
		}
		worked, batch = worked || ok, batch[1:]
	}
	return worked, nil
}

// recordFirst commits the result of the first pending step. Worked reports
// whether the call succeeded.
func (w *attempt) recordFirst(ctx context.Context, j *job) (worked bool, err error) {
	if err := w.commitResult(ctx, j); err != nil {
		return false, err
	}
	w.pending = w.pending[1:]
	return !j.result.IsError, nil
}

// awaitChildren looks what has become of the children of started steps.
func (w *attempt) awaitChildren(ctx context.Context, batch []*job) error {
	var started []*job
	for _, j := range batch {
		if j.step.State == fika.StepStarted {
			started = append(started, j)
		}
	}
	if len(started) == 0 {
		return nil
	}
	var got store.Awaited
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		got, err = w.cfg.Store.Await(ctx, w.fence)
		return err
	})
	if err != nil {
		return err
	}
	if got.Waiting {
		return waitingFor(got.Children)
	}
	for _, j := range started {
		j.call = w.toolCall(ctx, j)
		var k store.Child
		for _, c := range got.Children {
			if c.N == j.step.N {
				k = c
			}
		}
		d, _ := w.cfg.Tools.Delegator(j.step.Tool)
		r := d.Report(j.call, k.AgentName, k.Request)
		r.Taint = k.Taint
		j.result = &r
		w.postTool(ctx, j)
	}
	return nil
}

// delegations reads the planned calls. One that rules, hooks, permissions or the
// tool refuse has its result.
func (w *attempt) delegations(ctx context.Context, batch []*job) ([]store.Delegation, error) {
	for _, j := range batch {
		if j.result == nil {
			j.call = w.toolCall(ctx, j)
			w.judge(ctx, j)
		}
	}
	if err := w.askAbout(ctx, batch); err != nil {
		return nil, err
	}
	var list []store.Delegation
	for _, j := range batch {
		if j.result != nil {
			continue
		}
		t, _ := tool.DelegatorOf(j.tool)
		d, err := t.Delegate(ctx, j.call)
		if err != nil {
			r := tool.Refusal(err)
			j.result = &r
			continue
		}
		list = append(list, store.Delegation{N: j.step.N, Agent: d.Agent, Prompt: d.Prompt, Deadline: d.Deadline, Rights: j.call.Rights, Taint: j.call.Taint})
	}
	return list, nil
}

// createChildren makes the children and releases the request until they are
// done. It returns nil when every step was refused and has its result.
func (w *attempt) createChildren(ctx context.Context, batch []*job, list []store.Delegation) error {
	if ctx.Err() != nil {
		return w.interrupted(ctx)
	}
	var got store.Delegated
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		got, err = w.cfg.Store.Delegate(ctx, w.fence, list)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.applySignal(ctx, got.Signal); err != nil {
		return err
	}
	for _, j := range batch {
		if why, refused := got.Refused[j.step.N]; refused {
			j.result = &tool.Result{IsError: true, Text: why}
		} else if j.result == nil {
			w.tell(Event{Kind: ToolCalled, Tool: j.step.Tool, CallID: j.step.CallID, N: j.step.N, Args: j.call.Args, Round: j.step.Round})
		}
	}
	if len(got.Children) == 0 {
		return nil
	}
	return waitingFor(got.Children)
}

// waitingFor releases a request that waits for its children.
func waitingFor(children []store.Child) *released {
	res := &released{Result{State: fika.Waiting}}
	var names []string
	for _, k := range children {
		if !k.State.Terminal() {
			names = append(names, "@"+string(k.AgentName))
			res.Children = append(res.Children, k)
		}
	}
	res.Reason = "waiting for " + strings.Join(names, ", ")
	return res
}
