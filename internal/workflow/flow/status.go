package flow

import (
	"slices"
	"time"

	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/workflow"
)

// PlanStatuses returns what the bus is told about a stored plan: each step that has
// begun or ended with it, and the end of the run.
func PlanStatuses(r store.Run, p workflow.Plan, now time.Time) []message.WorkflowStatus {
	status := func() message.WorkflowStatus {
		return message.WorkflowStatus{
			Type: message.TypeWorkflow, RunID: string(r.ID), Workflow: r.Name, Status: string(r.State), Timestamp: message.TimeText(now), V: message.Version,
		}
	}
	var out []message.WorkflowStatus
	for _, row := range p.Rows {
		begins := slices.IndexFunc(p.Calls, func(c workflow.Call) bool { return c.Row == row.ID })
		if begins < 0 && !row.State.Ended() {
			continue
		}
		m := status()
		m.Step, m.StepStatus, m.Attempt, m.Error = row.Path, string(row.State), row.Attempt, row.Error
		if begins >= 0 {
			m.AgentName = p.Calls[begins].Agent
		}
		out = append(out, m)
	}
	if r.Over() {
		m := status()
		m.Error = r.Outcome.Error
		out = append(out, m)
	}
	return out
}
