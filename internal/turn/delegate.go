package turn

import (
	"context"
	"strings"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
)

// maxChildren is how many tasks a turn waits for at once; further calls follow later.
const maxChildren = 64

// Children creates and awaits the tasks that a turn gives to other agents.
type Children interface {
	Delegate(context.Context, store.Fence, []store.Delegation) (store.Delegated, error)
	Await(context.Context, store.Fence) (store.Awaited, error)
}

// delegations makes the calls that other agents work.
type delegations struct {
	*assignment
	*progress
	signals *signals
	permits *permits
	gate    *gate
	calls   *toolCalls
	store   Children
	tools   *tool.Set
}

// isDelegated reports whether a step is another agent's work. A started step has its
// child already; a planned one needs a tool that may be used and a request that can be
// suspended.
func (d *delegations) isDelegated(s fika.Step) bool {
	if s.N == d.cutStep || d.isForeground() {
		return false
	}
	if _, ok := d.tools.Delegator(s.Tool); !ok {
		return false
	}
	if s.State == fika.StepStarted {
		return s.PreHash == string(store.ChildID(d.fence.Request, s.N))
	}
	return d.tools.Check(s.Tool) == nil && d.permits.checkRights(s.Tool) == nil
}

// runDelegated settles the delegate steps at the head of the pending ones: it records
// the results of those under way and gives the others to their agents. Worked reports
// whether one of them succeeded.
func (d *delegations) runDelegated(ctx context.Context) (worked bool, _ error) {
	if ctx.Err() != nil {
		return false, d.signals.interruptedBy(ctx)
	}
	var batch []*job
	for _, s := range d.pending {
		if !d.isDelegated(s) || len(batch) == maxChildren {
			break
		}
		batch = append(batch, &job{step: s})
	}
	if err := d.awaitChildren(ctx, batch); err != nil {
		return false, err
	}
	list, err := d.readCalls(ctx, batch)
	if err != nil {
		return false, err
	}
	for len(batch) > 0 { // known results go first; nobody is asked twice
		if batch[0].result == nil {
			if err := d.createChildren(ctx, batch, list); err != nil {
				return worked, err
			}
		}
		ok, err := d.calls.recordFirst(ctx, batch[0])
		if err != nil {
			return worked, err
		}
		worked, batch = worked || ok, batch[1:]
	}
	return worked, nil
}

// awaitChildren checks what has become of the children of started steps.
func (d *delegations) awaitChildren(ctx context.Context, batch []*job) error {
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
	err := d.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		got, err = d.store.Await(ctx, d.fence)
		return err
	})
	if err != nil {
		return err
	}
	if got.Waiting {
		return waitingFor(got.Children)
	}
	for _, j := range started {
		j.call = d.calls.toolCall(ctx, j)
		var k store.Child
		for _, c := range got.Children {
			if c.N == j.step.N {
				k = c
			}
		}
		delegator, _ := d.tools.Delegator(j.step.Tool)
		r := delegator.Report(j.call, k.AgentName, k.Request)
		r.Taint = k.Taint
		j.result = &r
		d.calls.firePostTool(ctx, j)
	}
	return nil
}

// readCalls reads the planned calls. A call that rules, hooks, permissions or the tool
// refuse gets its result here.
func (d *delegations) readCalls(ctx context.Context, batch []*job) ([]store.Delegation, error) {
	if _, err := d.signals.ask(ctx); err != nil { // nothing checks the mode again
		return nil, err
	}
	for _, j := range batch {
		if j.result == nil {
			j.call = d.calls.toolCall(ctx, j)
			d.gate.judgeCall(ctx, j)
		}
	}
	if err := d.gate.askAbout(ctx, batch); err != nil {
		return nil, err
	}
	var list []store.Delegation
	for _, j := range batch {
		if j.result != nil {
			continue
		}
		t, _ := tool.DelegatorOf(j.tool)
		given, err := t.Delegate(ctx, j.call)
		if err != nil {
			r := tool.Refusal(err)
			j.result = &r
			continue
		}
		n := store.Delegation{N: j.step.N, Agent: given.Agent, Prompt: given.Prompt, Deadline: given.Deadline, Rights: j.call.Rights, Taint: j.call.Taint}
		if r := given.Run; r != nil {
			n.Run = &store.NewRun{Name: r.Name, Title: r.Title, Definition: r.Definition, Inputs: r.Inputs}
		}
		list = append(list, n)
	}
	return list, nil
}

// createChildren creates the children and releases the request until they are done. It
// returns nil when every step was refused and so has its result.
func (d *delegations) createChildren(ctx context.Context, batch []*job, list []store.Delegation) error {
	if ctx.Err() != nil {
		return d.signals.interruptedBy(ctx)
	}
	var got store.Delegated
	err := d.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		got, err = d.store.Delegate(ctx, d.fence, list)
		return err
	})
	if err != nil {
		return err
	}
	if err := d.signals.applySignal(ctx, got.Signal); err != nil {
		return err
	}
	for _, j := range batch {
		if why, refused := got.Refused[j.step.N]; refused {
			j.result = &tool.Result{IsError: true, Text: why}
		} else if j.result == nil {
			d.observeEvent(Event{Kind: ToolCalled, Tool: j.step.Tool, CallID: j.step.CallID, N: j.step.N, Args: j.call.Args, Round: j.step.Round})
		}
	}
	if len(got.Children) == 0 {
		return nil
	}
	return waitingFor(got.Children)
}

// waitingFor returns the release of a request that waits for its children.
func waitingFor(children []store.Child) *released {
	res := &released{Result{State: fika.Waiting}}
	var names []string
	for _, k := range children {
		if !k.State.Terminal() {
			if store.StandsForRun(k.Request) {
				names = append(names, "the run "+string(k.ID))
			} else {
				names = append(names, "@"+string(k.AgentName))
			}
			res.Children = append(res.Children, k)
		}
	}
	res.Reason = "waiting for " + strings.Join(names, ", ")
	return res
}
