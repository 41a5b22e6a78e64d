package openai

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"fika"
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

// usageOf reads token counts. Unreadable counts are zero, because a paid answer is worth
// more than its bill.
func usageOf(raw json.RawMessage) (fika.Usage, bool) {
	if !saysSomething(raw) {
		return fika.Usage{}, false
	}
	var u struct {
		Prompt     count `json:"prompt_tokens"`
		Completion count `json:"completion_tokens"`
		PromptHit  count `json:"prompt_cache_hit_tokens"`
		Cost       count `json:"cost"`
		In         struct {
			Cached count `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning count `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return fika.Usage{}, false
	}
	return fika.Usage{
		Input:     int64(u.Prompt),
		Output:    int64(u.Completion),
		Cached:    int64(min(max(u.In.Cached, u.PromptHit), u.Prompt)),
		Reasoning: int64(u.Out.Reasoning),
		Cost:      int64(math.Round(min(float64(u.Cost)*1e6, 1e15))),
	}, true
}

// count is a number that is never negative, huge or missing.
type count float64

// UnmarshalJSON reads numbers, also in quotes; anything else is 0.
func (c *count) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1e15 {
		f = 0
	}
	*c = count(f)
	return nil
}
