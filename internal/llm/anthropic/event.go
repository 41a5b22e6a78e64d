package anthropic

import (
	"encoding/json"

	"fika/internal/llm/wire"
)

// event is any event of a stream, or a whole message from a server that does not stream.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message json.RawMessage `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`

	Content     []json.RawMessage `json:"content"`
	StopReason  wire.Text         `json:"stop_reason"`
	StopDetails stopDetails       `json:"stop_details"`
}

// stopDetails is RefusalStopDetails in anthropic-sdk-go v1.84.0 (message.go).
type stopDetails struct {
	Explanation string `json:"explanation"`
}

type delta struct {
	Type      string    `json:"type"`
	Text      wire.Text `json:"text"`
	JSON      wire.Text `json:"partial_json"`
	Thinking  wire.Text `json:"thinking"`
	Signature string    `json:"signature"`

	StopReason  wire.Text   `json:"stop_reason"`
	StopDetails stopDetails `json:"stop_details"`
}

// usage counts tokens; every field is the total so far, so that a later one replaces an
// earlier one. Input counts neither Written nor Read.
type usage struct {
	Input   wire.Count `json:"input_tokens"`
	Written wire.Count `json:"cache_creation_input_tokens"`
	Read    wire.Count `json:"cache_read_input_tokens"`
	Output  wire.Count `json:"output_tokens"`
	Details struct {
		Thinking wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (u *usage) updateFrom(v *usage) {
	if v == nil {
		return
	}
	u.Input, u.Written, u.Read = v.Input.Or(u.Input), v.Written.Or(u.Written), v.Read.Or(u.Read)
	u.Output, u.Details.Thinking = v.Output.Or(u.Output), v.Details.Thinking.Or(u.Details.Thinking)
}

func (u usage) report() wire.Report {
	return wire.Report{
		Input: u.Input.Plus(u.Written).Plus(u.Read), Output: u.Output, Cached: u.Read, Written: u.Written, Reasoning: u.Details.Thinking,
	}
}

// statusOf returns the HTTP status that an error event corresponds to.
func statusOf(raw json.RawMessage) int {
	switch blockType(raw) {
	case "invalid_request_error":
		return 400
	case "authentication_error":
		return 401
	case "billing_error":
		return 402
	case "permission_error":
		return 403
	case "not_found_error":
		return 404
	case "request_too_large":
		return 413
	case "rate_limit_error":
		return 429
	case "timeout_error":
		return 504
	case "overloaded_error":
		return 529
	}
	return 500
}
