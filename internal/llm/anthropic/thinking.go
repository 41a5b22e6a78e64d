package anthropic

import (
	"encoding/json"
	"strconv"
	"strings"

	"fika/internal/llm"
)

// minBudget is the smallest thinking budget the API takes.
const minBudget = 1024

// thinking is what a request says about thinking, and how many tokens that
// may take.
type thinking struct {
	fields map[string]any
	budget int64
}

// thinkingFor turns the wish for reasoning into the form that the model knows;
// false: nothing to ask for.
func thinkingFor(model string, r llm.Request) (thinking, bool) {
	if r.Reasoning == nil || !loopHasThoughts(r.Messages) {
		return thinking{}, false
	}
	budget := r.Reasoning.MaxTokens
	if effort := r.Reasoning.Effort; budget <= 0 {
		budget = effortBudget(effort)
		if budget == 0 {
			return thinking{}, false
		}
		if adaptive(model) {
			if effort == "minimal" {
				effort = "low"
			}
			return thinking{map[string]any{
				"thinking":      map[string]any{"type": "adaptive"},
				"output_config": map[string]any{"effort": effort},
			}, budget}, true
		}
	}
	budget = max(budget, minBudget)
	return thinking{map[string]any{
		"thinking": map[string]any{"type": "enabled", "budget_tokens": budget},
	}, budget}, true
}

func effortBudget(effort string) int64 {
	switch effort {
	case "minimal":
		return minBudget
	case "low":
		return 2048
	case "medium":
		return 8192
	case "high":
		return 24576
	}
	return 0
}

// adaptive reports whether a model decides by itself how long it thinks:
// claude-FAMILY-MAJOR-MINOR from 4.6 on. A minor of more than two digits is a
// date.
func adaptive(model string) bool {
	parts := strings.FieldsFunc(strings.ToLower(model), func(r rune) bool { return r == '-' || r == '.' || r == '/' || r == '@' })
	for i, p := range parts {
		major, err := strconv.Atoi(p)
		if err != nil || len(p) > 2 || i == 0 || parts[i-1] == "claude" {
			continue
		}
		minor := 0
		if i+1 < len(parts) && len(parts[i+1]) <= 2 {
			minor, _ = strconv.Atoi(parts[i+1])
		}
		return major > 4 || major == 4 && minor >= 6
	}
	return false
}

// loopHasThoughts reports whether thinking may be on: every assistant message
// with calls after the last thing the user said must still have its thoughts.
func loopHasThoughts(messages []llm.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role == llm.User {
			return true
		}
		if m.Role != llm.Assistant || len(m.Calls) == 0 {
			continue
		}
		own, ok := ownBlob(m.Blob)
		if !ok || !isThought(own.Content[0]) {
			return false
		}
	}
	return true
}

func isThought(raw json.RawMessage) bool {
	t := blockType(raw)
	return t == "thinking" || t == "redacted_thinking"
}
