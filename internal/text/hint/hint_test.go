package hint_test

import (
	"testing"

	"fika/internal/text/hint"
)

func TestWith(t *testing.T) {
	for want, got := range map[string]string{
		"fika agent start coder":            hint.AgentStart.With("coder"),
		"fika agent start":                  hint.AgentStart.With(),
		"fika agent stop --now":             hint.AgentStopNow.With(),
		"fika budget set @coder --per day":  hint.BudgetSet.With("@coder", "day"),
		"fika workflow output 0a1b collect": hint.WorkflowOutput.With("0a1b", "collect"),
		"fika workflow output 0a1b":         hint.WorkflowOutput.With("0a1b"),
		"fika request retry a{}b":           hint.RequestRetry.With("a{}b"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
