package openai

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// body is a call as the server reads it. The parts that providers cache by their
// beginning come last, in the order in which they are cached.
type body struct {
	options  options
	tools    []llm.Tool
	messages []any // rawMessage, or a blob
}

// options holds the fields that come first.
type options struct {
	Model               string         `json:"model"`
	Stream              bool           `json:"stream"`
	StreamOptions       streamOptions  `json:"stream_options"`
	MaxTokens           int64          `json:"max_tokens,omitempty"`
	MaxCompletionTokens int64          `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Reasoning           map[string]any `json:"reasoning,omitempty"` // OpenRouter
	Thinking            map[string]any `json:"thinking,omitempty"`  // DeepSeek
	Usage               *includeUsage  `json:"usage,omitempty"`     // OpenRouter
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type includeUsage struct {
	Include bool `json:"include"`
}

// WriteBody implements [wire.Body].
func (b body) WriteBody(w *wire.Writer) {
	w.Text("{")
	w.Fields(b.options)
	if len(b.tools) > 0 {
		w.Text(`,"tools":[`)
		writeTools(w, b.tools)
		w.Text("]")
	}
	w.Text(`,"messages":`)
	w.Value(b.messages)
	w.Text("}")
}

func writeTools(w *wire.Writer, tools []llm.Tool) {
	w.Room(tools)
	for i, t := range tools {
		if i > 0 {
			w.Text(",")
		}
		w.Text(`{"type":"function","function":{`)
		w.Tool(t, "parameters", json.Valid)
		w.Text("}}")
	}
}

// encodeBody returns the body of a call.
func (m *model) encodeBody(r llm.Request) body {
	b := options{Model: m.opts.Model, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}}
	host := m.endpoint.Host()
	if isHost(host, "openai.com") {
		b.MaxCompletionTokens = max(r.MaxTokens, 0)
	} else {
		b.MaxTokens = max(r.MaxTokens, 0)
	}
	m.askReasoning(r.Reasoning, &b)
	if isHost(host, "openrouter.ai") {
		b.Usage = &includeUsage{true}
	}
	return body{options: b, tools: r.Tools, messages: wireMessages(r)}
}

func wireMessages(r llm.Request) []any {
	var out []any
	if r.System != "" {
		out = append(out, rawMessage{Role: "system", Content: &r.System})
	}
	for _, m := range r.Messages {
		switch m.Role {
		case llm.Assistant:
			out = append(out, assistantMessage(m))
		case llm.ToolRole:
			out = append(out, rawMessage{Role: "tool", Content: &m.Text, CallID: m.CallID})
		case llm.System:
			out = append(out, rawMessage{Role: "system", Content: &m.Text})
		default:
			out = append(out, userMessage(m))
		}
	}
	return out
}

// userMessage returns a message of text, or of parts if it has pictures.
// https://platform.openai.com/docs/guides/images-vision: a picture may be a data URL.
func userMessage(m llm.Message) any {
	if len(m.Images) == 0 {
		return rawMessage{Role: "user", Content: &m.Text}
	}
	parts := []part{{Type: "text", Text: m.Text}}
	for _, i := range m.Images {
		url := "data:" + i.MIME + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
		parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{url}})
	}
	return partsMessage{Role: "user", Content: parts}
}

// partsMessage is a message whose content is not only text.
type partsMessage struct {
	Role    string `json:"role"`
	Content []part `json:"content"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// assistantMessage returns the message as the server made it, if it still has that form,
// or else builds it anew.
func assistantMessage(m llm.Message) any {
	if isBlobOf(m) {
		return m.Blob
	}
	raw := rawMessage{Role: "assistant"}
	if m.Text != "" || len(m.Calls) == 0 {
		raw.Content = &m.Text
	}
	for _, c := range m.Calls {
		raw.Calls = append(raw.Calls, rawCall{ID: c.ID, Type: "function", Function: rawFunction{c.Name, argsOrEmpty(c.Args)}})
	}
	return raw
}

// isBlobOf reports whether the blob of a message is of this wire format and holds the
// message's calls and no others: the results that follow answer those.
func isBlobOf(m llm.Message) bool {
	var blob struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Calls   []rawCall       `json:"tool_calls"`
	}
	if len(m.Blob) == 0 || json.Unmarshal(m.Blob, &blob) != nil {
		return false
	}
	return blob.Role == "assistant" && (len(blob.Content) == 0 || blob.Content[0] != '[') &&
		slices.EqualFunc(blob.Calls, m.Calls, func(b rawCall, c llm.Call) bool { return b.ID == c.ID })
}

func argsOrEmpty(args string) string {
	if args == "" {
		return "{}"
	}
	return args
}

// rawMessage is a message as it is sent; most fields belong to an assistant's.
type rawMessage struct {
	Role             string            `json:"role"`
	Content          *string           `json:"content"`
	CallID           string            `json:"tool_call_id,omitempty"` // of a tool's result
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
