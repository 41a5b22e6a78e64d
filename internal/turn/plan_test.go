package turn

import "testing"

func TestHasPlan(t *testing.T) {
	for text, want := range map[string]bool{
		"## Plan\n1. read": true, "I looked.\n\n**Plan**\n\n1. a": true, "Plan:\n- a": true, "# PLAN #": true, "**Plan:**": true,
		"": false, "Which plan do you want?": false, "the plan: none yet": false, "plan": false, "## Planning": false, "1. Plan": false,
	} {
		if got := hasPlan(text); got != want {
			t.Errorf("%q has a plan: %v", text, got)
		}
	}
}
