package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// body is a request of either wire.
type body struct {
	Model         string        `json:"model"`
	Stream        bool          `json:"stream"`
	System        wire.Text     `json:"system"`
	MaxTokens     int64         `json:"max_tokens"`
	MaxCompletion int64         `json:"max_completion_tokens"`
	Tools         []bodyTool    `json:"tools"`
	Messages      []bodyMessage `json:"messages"`
}

type bodyTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Function    struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type bodyMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolID    string          `json:"tool_call_id"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type bodyBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   wire.Text       `json:"content"`
	IsError   bool            `json:"is_error"`
}

// parse reads a request, as strictly as the providers do in the points that have caused
// trouble: roles, answered calls, unique ids, empty text.
func parse(w Wire, data []byte) (Request, error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return Request{}, fmt.Errorf("the body is not JSON of a request: %w", err)
	}
	r := Request{Wire: w, Body: data, Model: b.Model, System: string(b.System), Stream: b.Stream, MaxTokens: max(b.MaxTokens, b.MaxCompletion)}
	for _, t := range b.Tools {
		if w == OpenAI {
			r.Tools = append(r.Tools, llm.Tool{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
		} else {
			r.Tools = append(r.Tools, llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.InputSchema})
		}
	}
	if b.Model == "" || len(b.Messages) == 0 {
		return r, fmt.Errorf("model and messages are required")
	}
	var err error
	if w == OpenAI {
		err = r.openAI(b.Messages)
	} else {
		err = r.anthropic(b)
	}
	return r, err
}

func (r *Request) openAI(messages []bodyMessage) error {
	open := map[string]bool{}
	for i, m := range messages {
		var text wire.Text
		if len(m.Content) > 0 {
			if err := json.Unmarshal(m.Content, &text); err != nil {
				return err
			}
		}
		switch m.Role {
		case "system", "developer":
			if i != 0 {
				return fmt.Errorf("messages[%d]: a system message must be the first", i)
			}
			r.System += string(text)
			continue
		case "tool":
			if !open[m.ToolID] {
				return fmt.Errorf("messages[%d]: tool_call_id %q answers no call", i, m.ToolID)
			}
			delete(open, m.ToolID)
			r.Messages = append(r.Messages, llm.Message{Role: llm.ToolRole, Text: string(text), CallID: m.ToolID})
			continue
		case "user", "assistant":
		default:
			return fmt.Errorf("messages[%d]: unknown role %q", i, m.Role)
		}
		if len(open) > 0 {
			return fmt.Errorf("messages[%d]: %d tool calls before it have no answer", i, len(open))
		}
		out := llm.Message{Role: llm.Role(m.Role), Text: string(text)}
		for _, c := range m.ToolCalls {
			if c.ID == "" || open[c.ID] {
				return fmt.Errorf("messages[%d]: tool call id %q is empty or used twice", i, c.ID)
			}
			open[c.ID] = true
			out.Calls = append(out.Calls, llm.Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		r.Messages = append(r.Messages, out)
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool calls have no answer", len(open))
	}
	return nil
}

func (r *Request) anthropic(b body) error {
	if b.MaxTokens <= 0 {
		return fmt.Errorf("max_tokens is required")
	}
	open := map[string]bool{}
	used := map[string]bool{}
	for i, m := range b.Messages {
		if (i%2 == 0) != (m.Role == "user") {
			return fmt.Errorf("messages[%d]: roles must alternate and begin with user, found %q", i, m.Role)
		}
		blocks, err := blocksOf(m.Content)
		if err != nil || len(blocks) == 0 {
			return fmt.Errorf("messages[%d]: content must be text or a list of blocks: %v", i, err)
		}
		if m.Role == "assistant" {
			err = r.said(blocks, open, used)
		} else {
			err = r.asked(blocks, open)
		}
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if b.Messages[len(b.Messages)-1].Role != "user" {
		return fmt.Errorf("the last message must be the user's")
	}
	return nil
}

// said reads an assistant message.
func (r *Request) said(blocks []bodyBlock, open, used map[string]bool) error {
	out := llm.Message{Role: llm.Assistant}
	for _, c := range blocks {
		switch c.Type {
		case "text":
			if strings.TrimSpace(c.Text) == "" {
				return fmt.Errorf("text content blocks must be non-empty")
			}
			out.Text += c.Text
		case "tool_use":
			if c.ID == "" || used[c.ID] {
				return fmt.Errorf("tool_use id %q is empty or used twice", c.ID)
			}
			if len(c.Input) == 0 || c.Input[0] != '{' {
				return fmt.Errorf("tool_use %q: input must be an object", c.ID)
			}
			used[c.ID], open[c.ID] = true, true
			out.Calls = append(out.Calls, llm.Call{ID: c.ID, Name: c.Name, Args: string(c.Input)})
		}
	}
	r.Messages = append(r.Messages, out)
	return nil
}

// asked reads a user message.
func (r *Request) asked(blocks []bodyBlock, open map[string]bool) error {
	text := false
	for _, c := range blocks {
		switch c.Type {
		case "tool_result":
			if text {
				return fmt.Errorf("tool_result blocks must come first")
			}
			if !open[c.ToolUseID] {
				return fmt.Errorf("tool_result %q answers no tool_use", c.ToolUseID)
			}
			delete(open, c.ToolUseID)
			r.Messages = append(r.Messages, llm.Message{Role: llm.ToolRole, Text: string(c.Content), CallID: c.ToolUseID, IsError: c.IsError})
		case "text":
			if strings.TrimSpace(c.Text) == "" {
				return fmt.Errorf("text content blocks must be non-empty")
			}
			text = true
			r.Messages = append(r.Messages, llm.Message{Role: llm.User, Text: c.Text})
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool_use blocks have no tool_result", len(open))
	}
	return nil
}

func blocksOf(raw json.RawMessage) ([]bodyBlock, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []bodyBlock{{Type: "text", Text: text}}, nil
	}
	var blocks []bodyBlock
	err := json.Unmarshal(raw, &blocks)
	return blocks, err
}
