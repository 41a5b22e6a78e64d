package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"fika/internal/llm"
)

// params builds the body of a call.
func (m *model) params(r llm.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:         m.opts.Model,
		Messages:      messages(r),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	extra := map[string]any{"stream": true}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, toolParam(t))
	}
	if r.MaxTokens > 0 {
		if isHost(m.host, "openai.com") {
			p.MaxCompletionTokens = param.NewOpt(r.MaxTokens)
		} else {
			p.MaxTokens = param.NewOpt(r.MaxTokens)
		}
	}
	m.askReasoning(r.Reasoning, &p, extra)
	if isHost(m.host, "openrouter.ai") {
		extra["usage"] = map[string]bool{"include": true}
	}
	p.SetExtraFields(extra)
	return p
}

// askReasoning puts the wish for reasoning into the form the server knows. A
// token budget has no plain field, so it is turned into the nearest effort.
func (m *model) askReasoning(r *llm.Reasoning, p *sdk.ChatCompletionNewParams, extra map[string]any) {
	if r == nil || r.Effort == "" && r.MaxTokens <= 0 {
		return
	}
	switch m.opts.ReasoningStyle {
	case ReasoningObject:
		if r.MaxTokens > 0 {
			extra["reasoning"] = map[string]any{"max_tokens": r.MaxTokens}
		} else {
			extra["reasoning"] = map[string]any{"effort": r.Effort}
		}
	case ReasoningEffort:
		p.ReasoningEffort = shared.ReasoningEffort(effort(r))
	}
}

func effort(r *llm.Reasoning) string {
	switch {
	case r.Effort != "":
		return r.Effort
	case r.MaxTokens <= 2048:
		return "low"
	case r.MaxTokens <= 8192:
		return "medium"
	}
	return "high"
}

func toolParam(t llm.Tool) sdk.ChatCompletionToolUnionParam {
	schema := t.Parameters
	if !json.Valid(schema) {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return param.Override[sdk.ChatCompletionToolUnionParam](map[string]any{
		"type":     "function",
		"function": map[string]any{"name": t.Name, "description": t.Description, "parameters": schema},
	})
}

func messages(r llm.Request) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	if r.System != "" {
		out = append(out, sdk.SystemMessage(r.System))
	}
	for _, m := range r.Messages {
		switch m.Role {
		case llm.Assistant:
			out = append(out, assistant(m))
		case llm.ToolRole:
			out = append(out, sdk.ToolMessage(m.Text, m.CallID))
		default:
			out = append(out, sdk.UserMessage(m.Text))
		}
	}
	return out
}

// assistant sends a message back as the server made it if it still has that,
// else builds it anew.
func assistant(m llm.Message) sdk.ChatCompletionMessageParamUnion {
	if ownBlob(m.Blob) {
		return param.Override[sdk.ChatCompletionMessageParamUnion](m.Blob)
	}
	raw := rawMessage{Role: "assistant"}
	if m.Text != "" || len(m.Calls) == 0 {
		raw.Content = &m.Text
	}
	for _, c := range m.Calls {
		raw.Calls = append(raw.Calls, rawCall{ID: c.ID, Type: "function", Function: rawFunction{c.Name, argsOrEmpty(c.Args)}})
	}
	return param.Override[sdk.ChatCompletionMessageParamUnion](raw)
}

// ownBlob reports whether a blob is a message of this wire format.
func ownBlob(blob json.RawMessage) bool {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if len(blob) == 0 || json.Unmarshal(blob, &m) != nil {
		return false
	}
	return m.Role == "assistant" && (len(m.Content) == 0 || m.Content[0] != '[')
}

func argsOrEmpty(args string) string {
	if args == "" {
		return "{}"
	}
	return args
}

// rawMessage is an assistant message as it is sent back.
type rawMessage struct {
	Role             string            `json:"role"`
	Content          *string           `json:"content"`
	Refusal          string            `json:"refusal,omitempty"`
	Calls            []rawCall         `json:"tool_calls,omitempty"`
	Reasoning        string            `json:"reasoning,omitempty"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

type rawCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function rawFunction     `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"` // signatures of thoughts, where a server sends them
}

type rawFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}
