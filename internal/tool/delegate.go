package tool

import (
	"context"
	"time"

	"fika"
)

// Delegator is a tool whose work another agent or a workflow does. A turn does not call it: it
// makes one task or run for each of several consecutive calls, in one transaction, waits for them
// without holding anything, and reports their outcomes. Where a turn cannot wait, the
// tool is called like any other and says so.
type Delegator interface {
	Tool
	// Delegate parses a call. An error is the refusal that the model reads.
	Delegate(context.Context, Call) (Delegation, error)
	// Report returns the result that the model reads about a task. The task's state is
	// terminal unless it did not stop in time; a task without an id was deleted.
	Report(c Call, agent fika.AgentName, task fika.Request) Result
}

// Delegation is a task for another agent, or a run of a workflow.
type Delegation struct {
	Agent    fika.AgentID
	Prompt   string
	Run      *Run          // in place of an agent and a prompt
	Deadline time.Duration // from now; positive
}

// Run is a run of a workflow that a call begins.
type Run struct {
	Name       string // of the workflow
	Title      string // what lists show, in one line
	Definition []byte // frozen
	Inputs     []byte // bound, as JSON
}

// DelegatorOf returns the [Delegator] of a tool, looking through its decorators.
func DelegatorOf(t Tool) (Delegator, bool) { return unwrappedAs[Delegator](t) }

func unwrappedAs[T any](t Tool) (T, bool) {
	for t != nil {
		if v, ok := t.(T); ok {
			return v, true
		}
		u, ok := t.(interface{ Unwrap() Tool })
		if !ok {
			break
		}
		t = u.Unwrap()
	}
	var none T
	return none, false
}
