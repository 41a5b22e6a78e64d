package board

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/tool"
)

// Bounds of a wait.
const (
	maxAwaited  = 50
	usualWait   = 24 * time.Hour
	longestWait = 7 * 24 * time.Hour
	maxReport   = 4 << 10 // bytes of the result of each task
)

// waitTool waits for tasks. It implements [tool.Waiter].
type waitTool struct{ desk Desk }

// Spec implements [tool.Tool].
func (w waitTool) Spec() tool.Spec {
	return about(w.desk, WaitName, "Wait until tasks of the board are done, dropped or held for a person; your turn sleeps meanwhile. minutes: how long at most (24 hours).",
		`{"type":"object","properties":{"tasks":{"type":"array","items":{"type":"integer"},"minItems":1},"minutes":{"type":"integer","minimum":1}},"required":["tasks"]}`, fika.Idempotent)
}

// Call implements [tool.Tool]: it is called where a turn cannot wait.
func (w waitTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if _, err := w.Wait(ctx, c); err != nil {
		return answer(ctx, WaitName, err)
	}
	return tool.Refusal(fika.Errorf(fika.Invalid, WaitName, "this turn runs in the foreground and cannot sleep: end it, and look at the board later (%s)", ListName)), nil
}

// Wait implements [tool.Waiter].
func (w waitTool) Wait(_ context.Context, c tool.Call) (out tool.Wait, err error) {
	var args struct {
		Tasks   []int64 `json:"tasks"`
		Minutes int64   `json:"minutes"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return out, fika.Errorf(fika.Invalid, WaitName, "the arguments cannot be read: %v", err)
	}
	for _, n := range args.Tasks {
		if n := fika.TaskNumber(n); !slices.Contains(out.Tasks, n) {
			out.Tasks = append(out.Tasks, n)
		}
	}
	if len(out.Tasks) == 0 || len(out.Tasks) > maxAwaited {
		return out, fika.Errorf(fika.Invalid, WaitName, "tasks: 1 to %d numbers of tasks", maxAwaited)
	}
	switch out.For = time.Duration(args.Minutes) * time.Minute; {
	case args.Minutes == 0:
		out.For = usualWait
	case args.Minutes < 0 || args.Minutes > int64(longestWait/time.Minute):
		return out, fika.Errorf(fika.Invalid, WaitName, "minutes: 1 to %d", longestWait/time.Minute)
	}
	return out, nil
}

// Waited implements [tool.Waiter].
func (w waitTool) Waited(ctx context.Context, c tool.Call, over bool) tool.Result {
	wait, err := w.Wait(ctx, c)
	if err != nil {
		return tool.Refusal(err)
	}
	var b strings.Builder
	if over {
		fmt.Fprintf(&b, "The time is over (%s). This is how it stands:\n", wait.For)
	}
	taint := ""
	for _, n := range wait.Tasks {
		t, _, err := w.desk.Show(ctx, c, n)
		if err != nil {
			fmt.Fprintf(&b, "%d: %v\n", n, err)
			continue
		}
		if taint == "" {
			taint = t.Taint
		}
		b.WriteString(line(t, false) + "\n")
		for _, text := range []string{t.HeldReason, t.Result} {
			if text != "" {
				b.WriteString(indented(clip(text, maxReport)) + "\n")
			}
		}
	}
	return tool.Result{Text: b.String(), Taint: taint}
}
