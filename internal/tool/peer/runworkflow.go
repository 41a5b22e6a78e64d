package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fika"
	"fika/internal/text/hint"
	"fika/internal/tool"
)

// RunWorkflowName is the name of the tool run_workflow.
const RunWorkflowName = "run_workflow"

// longestRun is how long a run may take that has no max_time of its own.
const longestRun = 24 * time.Hour

// Workflows finds the workflows that an agent may run. A call that is repeated because of a
// crash gets the same.
type Workflows interface {
	// Workflow returns a run of a workflow with inputs as a person would type them, and how
	// long it may take by itself; 0: as long as may be. It fails with NotFound for an unknown
	// name, and with Invalid for wrong inputs.
	Workflow(ctx context.Context, c tool.Call, name string, inputs map[string]string) (tool.Run, time.Duration, error)
}

// RunWorkflow is the tool run_workflow: it runs a workflow and waits for its result. The turn
// does the waiting ([tool.Delegator]).
type RunWorkflow struct {
	Workflows Workflows // nil: the tool is not offered
	// MaxDepth is how long a chain may grow; 0: no limit.
	MaxDepth int
	Limits   tool.Limits // on a result, as the model sees it
	// Alone is set where nobody could resume a turn that waits. The tool is not offered
	// then.
	Alone bool
}

// Spec implements [tool.Tool].
func (r *RunWorkflow) Spec() tool.Spec {
	return tool.Spec{
		Name:        RunWorkflowName,
		Description: "Run a workflow and wait for its result; your turn sleeps meanwhile. Its steps may do no more than you may. An unknown name is answered with those that there are and their inputs.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"inputs":{"type":"object"}},"required":["name"]}`),
		Checked:     true, Effect: fika.Idempotent, ByName: true, Hidden: r.Alone || r.Workflows == nil,
	}
}

// Call implements [tool.Tool] for turns that cannot wait.
func (r *RunWorkflow) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Errorf("not run: a one-shot prompt cannot wait for a workflow; an agent with a process of its own (" + hint.AgentStart.With() + ", or " + hint.AgentRun.With() + ") can"), nil
}

// Delegate implements [tool.Delegator].
func (r *RunWorkflow) Delegate(ctx context.Context, c tool.Call) (tool.Delegation, error) {
	var args struct {
		Name   string
		Inputs map[string]json.RawMessage
	}
	var out tool.Delegation
	if err := tool.Decode(r.Spec(), c, &args); err != nil {
		return out, err
	}
	if r.MaxDepth > 0 && c.Depth+1 >= r.MaxDepth {
		return out, fika.Errorf(fika.Limit, RunWorkflowName, "the workflow %.80q is not run: limit reached (max_depth %d); do the work yourself, or answer without it", args.Name, r.MaxDepth)
	}
	inputs := map[string]string{}
	for name, raw := range args.Inputs {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		inputs[name] = text
	}
	run, most, err := r.Workflows.Workflow(ctx, c, args.Name, inputs)
	if most <= 0 || most > longestRun {
		most = longestRun
	}
	return tool.Delegation{Run: &run, Deadline: most}, err
}

// Report implements [tool.Delegator].
func (r *RunWorkflow) Report(c tool.Call, _ fika.AgentName, run fika.Request) tool.Result {
	if run.State == fika.Done {
		return tool.Shorten(tool.Result{Text: run.Outcome.Answer}, c.Step, r.Limits)
	}
	why := run.Outcome.Error
	if why == "" {
		why = run.Reason
	}
	text := fmt.Sprintf("the run %s is %s: %s", run.ID, run.State, why)
	switch {
	case run.ID == "":
		text = "the run is gone: it was deleted before it had a result"
	case !run.State.Terminal():
		text = fmt.Sprintf("the run %s had no result within %s and is being cancelled", run.ID, shortDuration(run.Deadline.Sub(run.CreatedAt)))
	case run.Outcome.ErrorKind == fika.Limit:
		text = fmt.Sprintf("the run %s was stopped by a limit: %s", run.ID, why)
	}
	if run.Outcome.Answer != "" {
		text += "\n" + run.Outcome.Answer
	}
	return tool.Shorten(tool.Errorf(text), c.Step, r.Limits)
}
