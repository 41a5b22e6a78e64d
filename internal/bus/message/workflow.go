package message

// TypeWorkflow is the type of messages about runs of workflows.
const TypeWorkflow = "workflow_status"

// WorkflowStatus reports an event in a run of a workflow: a step, or the run itself,
// has begun or ended. Status is that of the run: running, done, failed, cancelled.
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
