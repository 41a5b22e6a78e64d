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

// delegates reports whether a step is another agent's work. One that was
// started has its child already; one that is planned needs a tool that may be
// used, and a request that can be suspended.
func (w *work) delegates(s fika.Step) bool {
	if s.N == w.cut || w.claimed.Request.Origin == fika.Foreground {
		return false
	}
	if _, ok := w.cfg.Tools.Delegator(s.Tool); !ok {
		return false
	}
	if s.State == fika.StepStarted {
		return s.PreHash == string(store.ChildID(w.fence.Request, s.N))
	}
	return w.cfg.Tools.Check(s.Tool) == nil
}

// delegated settles the delegate steps the queue begins with: it reports what
// came of those that are under way, and gives the others to their agents. A
// non-nil Result means that the turn waits.
func (w *work) delegated(ctx context.Context) (worked bool, _ *Result, _ error) {
	if ctx.Err() != nil {
		res, err := w.interrupted(ctx)
		return false, res, err
	}
	var batch []*job
	for _, s := range w.queue {
		if !w.delegates(s) || len(batch) == maxChildren {
			break
		}
		batch = append(batch, &job{step: s})
	}
	if res, err := w.await(ctx, batch); err != nil || res != nil {
		return false, res, err
	}
	list := w.delegations(ctx, batch)
	for len(batch) > 0 { // what is known goes first; nothing is asked twice
		if batch[0].result == nil {
			res, err := w.handOut(ctx, batch, list)
			if err != nil || res != nil {
				return worked, res, err
			}
		}
		ok, err := w.settle(ctx, batch[0])
		if err != nil {
			return worked, nil, err
		}
		worked, batch = worked || ok, batch[1:]
	}
	return worked, nil, nil
}

// settle records the result of the first step of the queue.
func (w *work) settle(ctx context.Context, j *job) (worked bool, err error) {
	if err := w.record(ctx, j); err != nil {
		return false, err
	}
	w.queue = w.queue[1:]
	return !j.result.IsError, nil
}

// await looks what has become of the children of started steps.
func (w *work) await(ctx context.Context, batch []*job) (*Result, error) {
	var started []*job
	for _, j := range batch {
		if j.step.State == fika.StepStarted {
			started = append(started, j)
		}
	}
	if len(started) == 0 {
		return nil, nil
	}
	var got store.Awaited
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		got, err = w.cfg.Store.Await(ctx, w.fence)
		return err
	})
	if err != nil {
		return nil, err
	}
	if got.Waiting {
		return suspended(got.Children), nil
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
		j.result = &r
		w.postTool(ctx, j)
	}
	return nil, nil
}

// delegations reads the planned calls. One that hooks, permissions or the tool
// refuse has its result.
func (w *work) delegations(ctx context.Context, batch []*job) []store.Delegation {
	var list []store.Delegation
	for _, j := range batch {
		if j.result != nil {
			continue
		}
		j.call = w.toolCall(ctx, j)
		if j.result = w.check(j); j.result != nil {
			continue
		}
		if j.result = w.preTool(ctx, j); j.result != nil {
			continue
		}
		t, _ := tool.DelegatorOf(j.tool)
		d, err := t.Delegate(ctx, j.call)
		if err != nil {
			r := tool.Refusal(err)
			j.result = &r
			continue
		}
		list = append(list, store.Delegation{N: j.step.N, Agent: d.Agent, Prompt: d.Prompt, Deadline: d.Deadline})
	}
	return list
}

// handOut makes the children. It returns a Result when the turn is suspended,
// or must not go on; else every step was refused, and has its result.
func (w *work) handOut(ctx context.Context, batch []*job, list []store.Delegation) (*Result, error) {
	if ctx.Err() != nil {
		return w.interrupted(ctx)
	}
	var got store.Delegated
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		got, err = w.cfg.Store.Delegate(ctx, w.fence, list)
		return err
	})
	if err != nil {
		return nil, err
	}
	if res, err := w.obey(ctx, got.Signal); err != nil || res != nil {
		return res, err
	}
	for _, j := range batch {
		if why, refused := got.Refused[j.step.N]; refused {
			j.result = &tool.Result{IsError: true, Text: why}
		} else if j.result == nil {
			w.tell(Event{Kind: ToolCalled, Tool: j.step.Tool, CallID: j.step.CallID, N: j.step.N, Args: j.call.Args, Round: j.step.Round})
		}
	}
	if len(got.Children) == 0 {
		return nil, nil
	}
	return suspended(got.Children), nil
}

// suspended is the result of a turn that waits for its children.
func suspended(children []store.Child) *Result {
	res := &Result{State: fika.Waiting}
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
