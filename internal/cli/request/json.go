package request

import (
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
)

// JSON is a request as --json prints it.
type JSON struct {
	ID           fika.RequestID        `json:"id"`
	Kind         fika.RequestKind      `json:"kind"`
	Agent        fika.AgentName        `json:"agent"`       // that works on it
	Addressed    *fika.AgentName       `json:"addressed"`   // that was asked, if another works on it
	HandedOver   *string               `json:"handed_over"` // why it was handed over
	Conversation fika.ConversationName `json:"conversation"`
	State        fika.RequestState     `json:"state"`
	Outcome      *string               `json:"outcome"`
	Answer       *string               `json:"answer"`
	Error        *string               `json:"error"`
	ErrorKind    *fika.Kind            `json:"error_kind"`
	Stop         *string               `json:"stop"` // why the last answer ended, if it is not whole: docs/internals/failures.md
	Reason       *string               `json:"reason"`
	Prompt       *string               `json:"prompt"`
	ToolCalls    []fika.ToolUsed       `json:"tool_calls"`
	Usage        fika.Usage            `json:"usage"`
	CostUSD      *float64              `json:"cost_usd"` // null: no price is known
	Model        *string               `json:"model"`
	Models       []fika.ModelUsed      `json:"models"` // that were called, if the agent has several; null: it has one
	Chain        *fika.RequestID       `json:"chain"`
	Depth        int                   `json:"depth"`
	Parent       *fika.RequestID       `json:"parent"`
	RetryOf      *fika.RequestID       `json:"retry_of"`
	Attempts     int                   `json:"attempts"`
	CreatedAt    time.Time             `json:"created_at"`
	Deadline     *time.Time            `json:"deadline"`
	StartedAt    *time.Time            `json:"started_at"`
	FinishedAt   *time.Time            `json:"finished_at"`
}

// placedJSON is a request in a list.
type placedJSON struct {
	JSON
	Host *string `json:"host"` // that the agent which works on it is on; null: there is only one
}

// ToJSON returns a request as --json prints it.
func ToJSON(e *command.Env, r service.RequestInfo) JSON {
	j := JSON{
		ID: r.ID, Kind: r.Kind, Agent: r.AgentName, Addressed: command.Optional(r.AddressedName), HandedOver: command.Optional(r.Handed), Conversation: r.ConversationName, State: r.State,
		Answer: command.Optional(r.Outcome.Answer), Error: command.Optional(r.Outcome.Error), ErrorKind: command.Optional(r.Outcome.ErrorKind), Stop: command.Optional(r.Outcome.Stop), Reason: command.Optional(r.Reason), Prompt: command.Optional(r.Payload.Prompt),
		ToolCalls: r.Outcome.ToolCalls, Usage: r.Outcome.Usage, CostUSD: e.CostUSD(r.Outcome.Model, r.Outcome.Usage), Model: command.Optional(r.Outcome.Model), Models: r.Outcome.Models,
		Chain: command.Optional(r.Chain), Depth: r.Depth, Parent: command.Optional(r.Parent), RetryOf: command.Optional(r.RetryOf), Attempts: r.Attempts, CreatedAt: r.CreatedAt.UTC(),
		Deadline: command.JSONTime(r.Deadline), StartedAt: command.JSONTime(r.StartedAt), FinishedAt: command.JSONTime(r.FinishedAt),
	}
	if j.ToolCalls == nil {
		j.ToolCalls = []fika.ToolUsed{}
	}
	if r.State.Terminal() {
		j.Outcome = command.Optional(string(r.State))
	}
	return j
}
