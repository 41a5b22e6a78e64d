package openai

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"fika/internal/llm/wire"
)

// chunk is one piece of a streamed answer, or a whole answer.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index   int             `json:"index"`
	Delta   *piece          `json:"delta"`
	Message *piece          `json:"message"`
	Finish  wire.Text       `json:"finish_reason"`
	Error   json.RawMessage `json:"error"`
}

type piece struct {
	Content          wire.Text         `json:"content"`
	Refusal          wire.Text         `json:"refusal"`
	Reasoning        wire.Text         `json:"reasoning"`
	ReasoningContent wire.Text         `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	Calls            []callPiece       `json:"tool_calls"`
}

type callPiece struct {
	Index    *int            `json:"index"`
	ID       wire.Text       `json:"id"`
	Extra    json.RawMessage `json:"extra_content"`
	Function struct {
		Name      wire.Text `json:"name"`
		Arguments wire.Text `json:"arguments"`
	} `json:"function"`
}

// saysSomething reports whether an error field has any content.
func saysSomething(raw json.RawMessage) bool {
	s := strings.TrimSpace(string(raw))
	return s != "" && s != "null" && s != "{}" && s != `""` && s != "false"
}

// statusOf returns the HTTP status that an error inside a stream corresponds to.
func statusOf(raw json.RawMessage) int {
	var e struct {
		Code   wire.Text `json:"code"`
		Status wire.Text `json:"status"`
		Type   wire.Text `json:"type"`
	}
	_ = json.Unmarshal(raw, &e)
	for _, field := range []wire.Text{e.Code, e.Status} {
		if n, err := strconv.Atoi(string(field)); err == nil && n >= 400 && n <= 599 {
			return n
		}
	}
	for _, field := range []wire.Text{e.Code, e.Type, e.Status} {
		if n := knownStatus(strings.ToLower(string(field))); n != 0 {
			return n
		}
	}
	return 500
}

func knownStatus(code string) int {
	switch code {
	case "rate_limit_exceeded", "rate_limit_error", "too_many_requests", "insufficient_quota":
		return 429
	case "context_length_exceeded", "invalid_request_error", "content_filter", "bad_request":
		return 400
	case "authentication_error", "invalid_api_key":
		return 401
	case "permission_error", "forbidden":
		return 403
	case "model_not_found", "not_found_error":
		return 404
	case "timeout", "timeout_error":
		return 504
	case "overloaded", "overloaded_error":
		return 529
	}
	return 0
}

// usageOf reads token counts, and reports whether there were any.
func usageOf(raw json.RawMessage) (wire.Report, bool) {
	if !saysSomething(raw) {
		return wire.Report{}, false
	}
	var u struct {
		Prompt     wire.Count   `json:"prompt_tokens"`
		Completion wire.Count   `json:"completion_tokens"`
		PromptHit  wire.Count   `json:"prompt_cache_hit_tokens"` // DeepSeek
		Cost       wire.Dollars `json:"cost"`                    // OpenRouter
		In         struct {
			Cached  wire.Count `json:"cached_tokens"`
			Written wire.Count `json:"cache_write_tokens"` // OpenRouter
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning wire.Count `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if err := json.Unmarshal(raw, &u); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return wire.Report{}, false
	}
	return wire.Report{
		Input: u.Prompt, Output: u.Completion, Cached: u.In.Cached.Or(u.PromptHit), Written: u.In.Written,
		Reasoning: u.Out.Reasoning, Dollars: float64(u.Cost),
	}, true
}
