package anthropic

import (
	"encoding/json"

	"fika/internal/llm"
)

// minBudget is the smallest thinking budget the API takes: ThinkingConfigEnabled
// in anthropic-sdk-go v1.84.0, message.go.
const minBudget = 1024

// bindingBeta allows a request to say what happens to reasoning if what came before it
// has changed: BetaThinkingBlockBindingParam in anthropic-sdk-go v1.84.0,
// betamessage.go.
const bindingBeta = "thinking-binding-controls-2026-08-01"

// thinking is what a request says about thinking.
type thinking struct {
	config any // the field "thinking"; nil: none
	output outputConfig
	room   int64  // tokens that thinking may take besides the answer
	replay replay // which earlier reasoning goes back
}

// replay says which reasoning of earlier calls goes back to the API.
type replay int

const (
	replayAll  replay = iota
	replayLoop        // only of the running tool loop
	replayNone
)

type thinkingConfig struct {
	Type    string   `json:"type"`
	Budget  int64    `json:"budget_tokens,omitempty"`
	Display string   `json:"display,omitempty"`
	Binding *binding `json:"block_binding,omitempty"`
}

type binding struct {
	Mismatch string `json:"prefix_mismatch_behavior"`
}

// outputConfig is OutputConfigParam in anthropic-sdk-go v1.84.0 (message.go).
type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

// outputFormat is JSONOutputFormatParam there.
type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

func (c outputConfig) orNil() any {
	if c == (outputConfig{}) {
		return nil
	}
	return c
}

// thinkingFor translates the requested reasoning into what models of the family accept.
func (f family) thinkingFor(r llm.Request) thinking {
	var wish llm.Reasoning
	if r.Reasoning != nil {
		wish = *r.Reasoning
	}
	switch {
	case wish.Effort == "none":
		return f.withoutThinking()
	case wish == (llm.Reasoning{}):
		return f.defaultThinking()
	case wish.MaxTokens > 0 && f.budgets:
		return f.thinkingBudget(wish.MaxTokens, r.Messages)
	case wish.MaxTokens > 0:
		return f.adaptiveThinking(effortOf(wish.MaxTokens))
	case !f.adaptive:
		return f.thinkingBudget(roomFor(wish.Effort), r.Messages)
	}
	return f.adaptiveThinking(wish.Effort)
}

// withoutThinking asks for no thinking, or for as little as the model can do with.
func (f family) withoutThinking() thinking {
	switch {
	case f.always:
		return f.adaptiveThinking("low")
	case f.disable == "":
		return thinking{replay: replayNone}
	case f.disable == "disabled":
		return thinking{config: thinkingConfig{Type: f.disable}, replay: replayNone}
	}
	return thinking{config: thinkingConfig{Type: f.disable}, room: roomFor("low"), replay: replayLoop}
}

// defaultThinking leaves thinking to the model, but leaves room for it.
func (f family) defaultThinking() thinking {
	t := thinking{}
	if f.unbidden {
		t.room = roomFor("high")
	}
	if f.bound {
		t.config = thinkingConfig{Type: "adaptive", Binding: dropMismatch()}
	}
	return t
}

func (f family) adaptiveThinking(effort string) thinking {
	effort = f.clampEffort(effort)
	c := thinkingConfig{Type: "adaptive", Display: "summarized"}
	if f.bound {
		c.Binding = dropMismatch()
	}
	return thinking{config: c, output: outputConfig{Effort: effort}, room: roomFor(effort)}
}

// dropMismatch lets the API drop reasoning if what came before it has changed, for
// example by a compaction, instead of refusing the call:
// https://platform.claude.com/docs/build-with-claude/preserved-thinking.
func dropMismatch() *binding { return &binding{"drop_block"} }

// thinkingBudget asks for n tokens of thinking. The API refuses that if the running tool
// loop lacks thoughts, for example because another model began it.
func (f family) thinkingBudget(n int64, messages []llm.Message) thinking {
	if !loopHasThoughts(messages) {
		return thinking{replay: replayNone}
	}
	n = max(n, minBudget)
	return thinking{config: thinkingConfig{Type: "enabled", Budget: n}, room: n}
}

// roomFor returns how many tokens thinking at an effort may take: the budget where the
// API wants one, else a part of max_tokens, which limits thinking and answer together.
func roomFor(effort string) int64 {
	switch effort {
	case "minimal":
		return minBudget
	case "low":
		return 2048
	case "medium":
		return 8192
	case "xhigh":
		return 32768
	case "max":
		return 49152
	}
	return 24576
}

// effortOf returns the effort whose thinking takes about that many tokens.
func effortOf(tokens int64) string {
	for _, effort := range []string{"low", "medium", "high", "xhigh"} {
		if tokens <= roomFor(effort) {
			return effort
		}
	}
	return "max"
}

// loopHasThoughts reports whether every assistant message with calls after the user's
// last message still has its thoughts.
func loopHasThoughts(messages []llm.Message) bool {
	for _, m := range messages[loopStart(messages):] {
		if m.Role != llm.Assistant || len(m.Calls) == 0 {
			continue
		}
		own, ok := blobOf(m)
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
