package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"fika/internal/llm"
)

// defaultMaxTokens is the room for an answer when the request names none.
const defaultMaxTokens = 8192

// body is a call as the API reads it. What the provider caches by its
// beginning comes last and in the order in which it is cached.
type body struct {
	Model        string       `json:"model"`
	MaxTokens    int64        `json:"max_tokens"`
	Stream       bool         `json:"stream"`
	Thinking     any          `json:"thinking,omitempty"`
	OutputConfig any          `json:"output_config,omitempty"`
	Tools        []rawTool    `json:"tools,omitempty"`
	System       []rawBlock   `json:"system,omitempty"`
	Messages     []rawMessage `json:"messages"`
}

type rawTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// encode builds the body of a call.
func (m *model) encode(r llm.Request) body {
	b := body{Model: m.opts.Model, MaxTokens: r.MaxTokens, Stream: true, Messages: window(r.Messages)}
	if b.MaxTokens <= 0 {
		b.MaxTokens = defaultMaxTokens
	}
	if strings.TrimSpace(r.System) != "" {
		b.System = []rawBlock{{Type: "text", Text: r.System, CacheControl: json.RawMessage(`{"type":"ephemeral"}`)}}
	}
	for _, t := range r.Tools {
		b.Tools = append(b.Tools, toolOf(t))
	}
	if t, ok := thinkingFor(m.opts.Model, r); ok {
		b.MaxTokens += t.budget
		b.Thinking, b.OutputConfig = t.fields["thinking"], t.fields["output_config"]
	}
	return b
}

func toolOf(t llm.Tool) rawTool {
	schema := t.Parameters
	if !isObject(schema) {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return rawTool{Name: t.Name, Description: t.Description, InputSchema: schema}
}

// rawMessage is a message as it is sent. Its blocks stay raw, so that what the
// API signed goes back byte for byte.
type rawMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

type rawBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      string          `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    *string         `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
}

func (b rawBlock) raw() json.RawMessage {
	raw, err := json.Marshal(b)
	if err != nil { // Input is checked before; nothing else can fail
		return json.RawMessage(`{"type":"text","text":"(unreadable)"}`)
	}
	return raw
}

// window turns messages into what the API accepts: roles that alternate and
// begin and end with the user, results before text, unique ids, no empty text.
func window(messages []llm.Message) []rawMessage {
	w := builder{current: map[string]string{}, used: map[string]bool{}}
	for _, m := range messages {
		switch m.Role {
		case llm.Assistant:
			w.add("assistant", w.assistant(m)...)
		case llm.ToolRole:
			w.add("user", w.result(m))
		default:
			w.add("user", rawBlock{Type: "text", Text: orPlaceholder(m.Text)}.raw())
		}
	}
	if len(w.out) > 0 && w.out[0].Role == "assistant" {
		w.out = append([]rawMessage{{"user", []json.RawMessage{textBlock("(the conversation goes on)")}}}, w.out...)
	}
	if n := len(w.out); n == 0 || w.out[n-1].Role == "assistant" {
		w.add("user", textBlock("Continue."))
	}
	for i := range w.out {
		if w.out[i].Role == "user" {
			w.out[i].Content = resultsFirst(w.out[i].Content)
		}
	}
	markForCache(w.out)
	return w.out
}

type builder struct {
	out     []rawMessage
	current map[string]string // our call id → the id on the wire
	used    map[string]bool   // ids on the wire
}

func (w *builder) add(role string, blocks ...json.RawMessage) {
	if len(blocks) == 0 {
		return
	}
	if n := len(w.out); n > 0 && w.out[n-1].Role == role {
		w.out[n-1].Content = append(w.out[n-1].Content, blocks...)
		return
	}
	w.out = append(w.out, rawMessage{Role: role, Content: blocks})
}

func (w *builder) assistant(m llm.Message) []json.RawMessage {
	if own, ok := ownBlob(m.Blob); ok {
		for _, c := range m.Calls {
			w.current[c.ID], w.used[c.ID] = c.ID, true
		}
		return own.Content
	}
	var out []json.RawMessage
	if strings.TrimSpace(m.Text) != "" {
		out = append(out, textBlock(m.Text))
	}
	for _, c := range m.Calls {
		id := w.name(c.ID)
		w.current[c.ID] = id
		input := json.RawMessage(c.Args)
		if !isObject(input) {
			input = json.RawMessage("{}")
		}
		out = append(out, rawBlock{Type: "tool_use", ID: id, Name: c.Name, Input: input}.raw())
	}
	return out
}

func (w *builder) result(m llm.Message) json.RawMessage {
	id, ok := w.current[m.CallID]
	if !ok {
		id = safeID(m.CallID)
	}
	return rawBlock{Type: "tool_result", ToolUseID: id, Content: orPlaceholder(m.Text), IsError: m.IsError}.raw()
}

// name gives a call an id that the API takes and that no other call has.
func (w *builder) name(id string) string {
	base := safeID(id)
	name := base
	for n := 2; w.used[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	w.used[name] = true
	return name
}

func safeID(id string) string {
	if id == "" {
		return "call"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
}

// ownBlob reads a blob if it is a message of this wire format.
func ownBlob(blob json.RawMessage) (rawMessage, bool) {
	var m rawMessage
	if len(blob) == 0 || json.Unmarshal(blob, &m) != nil {
		return m, false
	}
	return m, m.Role == "assistant" && len(m.Content) > 0
}

func resultsFirst(blocks []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(blocks))
	for _, results := range []bool{true, false} {
		for _, b := range blocks {
			if (blockType(b) == "tool_result") == results {
				out = append(out, b)
			}
		}
	}
	return out
}

func blockType(raw json.RawMessage) string {
	var b struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &b)
	return b.Type
}

// markForCache marks the last block of the last message, which is the user's.
func markForCache(messages []rawMessage) {
	if len(messages) == 0 {
		return
	}
	content := messages[len(messages)-1].Content
	var b rawBlock
	if last := len(content) - 1; json.Unmarshal(content[last], &b) == nil {
		b.CacheControl = json.RawMessage(`{"type":"ephemeral"}`)
		content[last] = b.raw()
	}
}

func textBlock(text string) json.RawMessage { return rawBlock{Type: "text", Text: text}.raw() }

// orPlaceholder stands in for text that the API refuses because it is empty.
func orPlaceholder(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(empty)"
	}
	return text
}

func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
