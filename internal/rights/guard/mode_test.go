package guard_test

import (
	"testing"

	"fika"
	"fika/internal/rights/guard"
)

// TestPlanOnlyLooks: in plan mode everything is refused that is not known to look alone,
// whatever rules allow.
func TestPlanOnlyLooks(t *testing.T) {
	allow := guard.Decision{Do: guard.Allow}
	for tool, looks := range map[string]bool{
		"read": true, "list": true, "read_context": true, "recall": true, "tool_search": true, "skill": true, "board_list": true,
		"edit": false, "create": false, "bash": false, "fetch": false, "delegate": false, "send_message": false, "create_context": false,
		"update_todos": false, "update_goals": false, "update_reflection": false, "post__letter": false, "my_plugin": false, "": false, "READ": false,
	} {
		if got := allow.WithinMode(fika.PlanMode, tool).Do == guard.Allow; got != looks {
			t.Errorf("%q is allowed in plan mode: %v", tool, got)
		}
		for _, m := range []fika.Mode{"", fika.AskMode, fika.EditMode, fika.AutoMode} {
			if allow.WithinMode(m, tool).Do != guard.Allow {
				t.Errorf("%q is refused in mode %q", tool, m)
			}
		}
	}
	if d := (guard.Decision{Do: guard.Ask}).WithinMode(fika.PlanMode, "read"); d.Do != guard.Ask {
		t.Error("a rule about reading does not ask in plan mode")
	}
	open := &fika.Rights{Sandbox: "off", Network: true, Reach: []string{"a.example"}, Lend: []string{"~/.ssh"}}
	if r := guard.ConfinedRights(open, fika.PlanMode); r.Sandbox != "best" || !r.ReadOnly || r.Network || r.Reach != nil || r.Lend != nil {
		t.Errorf("processes in plan mode: %+v", r)
	}
	if guard.ConfinedRights(open, fika.AskMode) != open || guard.ConfinedRights(nil, fika.PlanMode) != nil {
		t.Error("another mode changes how processes are confined")
	}
}
