package message

// TypeWorkflow is the type of what is told of runs of workflows.
const TypeWorkflow = "workflow_status"

// WorkflowStatus tells what has happened in a run of a workflow: a step has
// begun or ended, or the run has. Status is that of the run: running, done,
// failed, cancelled.
type WorkflowStatus struct {
	Type       string `json:"type"`
	RunID      string `json:"runId"`
	Workflow   string `json:"workflow,omitempty"`
	Status     string `json:"status"`
	Step       string `json:"step,omitempty"`       // its path, as in files[17]
	StepStatus string `json:"stepStatus,omitempty"` // running, asking, done, failed, cancelled, skipped, blocked
	Attempt    int    `json:"attempt,omitempty"`
	AgentName  string `json:"agentName,omitempty"`
	Error      string `json:"error,omitempty"`
	Timestamp  string `json:"timestamp"`
	V          int    `json:"v,omitempty"`
}
