package tool

import (
	"context"
	"time"

	"fika"
)

// Waiter is a tool that waits for tasks of the board. A turn does not call it: it lets go of
// everything until the tasks have ended, and reports what became of them. Where a turn cannot
// wait, the tool is called like any other and says so.
type Waiter interface {
	Tool
	// Wait parses a call. An error is the refusal that the model reads.
	Wait(context.Context, Call) (Wait, error)
	// Waited returns the result that the model reads.
	Waited(ctx context.Context, c Call, over bool) Result
}

// Wait says what a call waits for.
type Wait struct {
	Tasks []fika.TaskNumber // at least one
	For   time.Duration     // at most; positive
}

// WaiterOf returns the [Waiter] of a tool, looking through its decorators.
func WaiterOf(t Tool) (Waiter, bool) { return unwrappedAs[Waiter](t) }
