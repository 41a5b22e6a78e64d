package anthropic

import (
	"encoding/json"

	"fika"
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

	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
}

type delta struct {
	Type       string    `json:"type"`
	Text       wire.Text `json:"text"`
	JSON       wire.Text `json:"partial_json"`
	Thinking   wire.Text `json:"thinking"`
	Signature  string    `json:"signature"`
	StopReason string    `json:"stop_reason"`
}

// usage counts tokens; every field is the total so far, so that a later one replaces an
// earlier one.
type usage struct {
	Input   *int64 `json:"input_tokens"`
	Written *int64 `json:"cache_creation_input_tokens"`
	Read    *int64 `json:"cache_read_input_tokens"`
	Output  *int64 `json:"output_tokens"`
	Details struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (u *usage) updateFrom(v *usage) {
	if v == nil {
		return
	}
	set := func(dst **int64, src *int64) {
		if src != nil && *src >= 0 {
			*dst = src
		}
	}
	set(&u.Input, v.Input)
	set(&u.Written, v.Written)
	set(&u.Read, v.Read)
	set(&u.Output, v.Output)
	set(&u.Details.Thinking, v.Details.Thinking)
}

func (u usage) totalUsage() fika.Usage {
	n := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return *p
	}
	return fika.Usage{
		Input:     n(u.Input) + n(u.Written) + n(u.Read),
		Output:    n(u.Output),
		Cached:    n(u.Read),
		Reasoning: n(u.Details.Thinking),
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
