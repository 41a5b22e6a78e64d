package tool

import (
	"context"
	"time"

	"fika"
)

// Delegator is a tool whose work another agent does. A turn does not call it:
// it makes one task for each of consecutive calls, in one transaction, waits
// for them without holding anything, and reports what came of them. Where a
// turn cannot wait, it is called like any other tool and says so.
type Delegator interface {
	Tool
	// Delegate reads a call. An error is the refusal that the model reads.
	Delegate(context.Context, Call) (Delegation, error)
	// Report is the result for the model of what came of a task. Its state is
	// terminal, unless it did not stop in time; one without an id was deleted.
	Report(c Call, agent fika.AgentName, task fika.Request) Result
}

// Delegation is a task for another agent.
type Delegation struct {
	Agent    fika.AgentID
	Prompt   string
	Deadline time.Duration // from now; positive
}

// DelegatorOf finds the [Delegator] of a tool through its decorators.
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
