package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
	ResponseFormat      any            `json:"response_format,omitempty"`
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
	if isHost(host, "openai.com") || isAzure(host) {
		b.MaxCompletionTokens = max(r.MaxTokens, 0)
	} else {
		b.MaxTokens = max(r.MaxTokens, 0)
	}
	m.askReasoning(r.Reasoning, &b)
	if isHost(host, "openrouter.ai") {
		b.Usage = &includeUsage{true}
	}
	if len(r.Schema) > 0 && (len(r.Tools) == 0 || isHost(host, "openai.com") || isAzure(host) || isHost(host, "openrouter.ai")) {
		b.ResponseFormat = answerSchema(r.Schema)
	}
	return body{options: b, tools: r.Tools, messages: m.wireMessages(r)}
}

// answerSchema asks for an answer by a schema: ResponseFormatJSONSchema in openai-go
// v3.96.0 (shared/shared.go). It is not strict, because that mode takes a part of JSON Schema
// only. Servers that hold every token to the schema, as vLLM does, would make tool calls
// impossible, so with tools it is sent to known ones only.
func answerSchema(schema json.RawMessage) any {
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "schema": schema}}
}

// wireMessages returns the messages of a call. Only the first is the system's, and no two
// in a row are the user's: the templates of many open models refuse anything else, so what
// the program says in the middle of a conversation travels as text of the user.
func (m *model) wireMessages(r llm.Request) []any {
	var out []draft
	if r.System != "" {
		out = append(out, draft{role: "system", parts: []part{{Type: "text", Text: r.System}}})
	}
	var shown []part // pictures of tool results, which can only be shown after all of them
	for _, x := range r.Messages {
		if x.Role != llm.ToolRole && len(shown) > 0 {
			out = addUser(out, shown, false)
			shown = nil
		}
		switch x.Role {
		case llm.Assistant:
			out = append(out, draft{role: "assistant", raw: assistantMessage(x)})
		case llm.ToolRole:
			out = append(out, draft{role: "tool", id: x.CallID, parts: []part{{Type: "text", Text: x.Text}}})
			shown = append(shown, pictureParts(x.Images, "Shown by the tool call "+x.CallID+":")...)
		default:
			out = addUser(out, append([]part{{Type: "text", Text: x.Text}}, pictureParts(x.Images, "")...), x.Passing)
		}
	}
	if len(shown) > 0 {
		out = addUser(out, shown, false)
	}
	if m.opts.CacheMarks {
		markDrafts(out, m.opts.CacheHour)
	}
	messages := make([]any, len(out))
	for i, d := range out {
		messages[i] = d.message()
	}
	return messages
}

// draft is a message that may still grow.
type draft struct {
	role    string
	id      string // of the call that a tool's result answers
	parts   []part
	raw     any // of an assistant's message, instead of parts
	passing int // how many of the last parts may be missing from the next call
}

// addUser adds text and pictures to the user's last message, or begins a new one.
func addUser(out []draft, parts []part, passing bool) []draft {
	if n := len(out); n == 0 || out[n-1].role != "user" {
		out = append(out, draft{role: "user"})
	}
	last := &out[len(out)-1]
	last.parts = append(last.parts, parts...)
	if passing || last.passing > 0 {
		last.passing += len(parts)
	}
	return out
}

// message returns the draft as it is sent: as plain text where that is all there is,
// because not every server takes parts.
func (d draft) message() any {
	if d.raw != nil {
		return d.raw
	}
	var texts []string
	for _, p := range d.parts {
		if p.Type != "text" || p.CacheControl != nil {
			return partsMessage{Role: d.role, Content: d.parts, CallID: d.id}
		}
		texts = append(texts, p.Text)
	}
	text := strings.Join(texts, "\n\n")
	return rawMessage{Role: d.role, Content: &text, CallID: d.id}
}

// markDrafts marks the system text, the end of what the call before this one was sent, and
// the end of what the next one will repeat: a gateway passes the marks on to Claude, which
// takes four, and tools come before the system text.
// https://openrouter.ai/docs/features/prompt-caching
func markDrafts(out []draft, hour bool) {
	stable := len(out)
	for i, d := range out {
		if d.role == "system" {
			out[i].mark(hour)
		}
		if d.passing > 0 {
			stable = i + 1
			break
		}
	}
	end := lastMarkable(out[:stable])
	if end < 0 {
		return
	}
	out[end].mark(hour)
	answer := end
	for answer > 0 && out[answer].role != "assistant" {
		answer--
	}
	if before := lastMarkable(out[:answer]); before >= 0 {
		out[before].mark(hour)
	}
}

// mark marks the last part that the next call will repeat.
func (d draft) mark(hour bool) {
	text := `{"type":"ephemeral"}`
	if hour {
		text = `{"type":"ephemeral","ttl":"1h"}`
	}
	d.parts[len(d.parts)-d.passing-1].CacheControl = json.RawMessage(text)
}

// lastMarkable returns the index of the last message that a mark can be put on; -1: none.
func lastMarkable(out []draft) int {
	for i := len(out) - 1; i >= 0; i-- {
		if d := out[i]; d.role != "system" && len(d.parts) > d.passing {
			return i
		}
	}
	return -1
}

// pictureParts returns pictures and documents under a heading, if they need one.
// https://platform.openai.com/docs/guides/images-vision: a picture may be a data URL;
// https://platform.openai.com/docs/guides/pdf-files: so may a document.
func pictureParts(images []llm.Image, heading string) []part {
	var out []part
	if len(images) > 0 && heading != "" {
		out = append(out, part{Type: "text", Text: heading})
	}
	for i, x := range images {
		data := "data:" + x.MIME + ";base64," + base64.StdEncoding.EncodeToString(x.Data)
		if x.MIME == "application/pdf" {
			out = append(out, part{Type: "file", File: &filePart{Name: fmt.Sprintf("document%d.pdf", i+1), Data: data}})
			continue
		}
		out = append(out, part{Type: "image_url", ImageURL: &imageURL{data}})
	}
	return out
}

// partsMessage is a message whose content is not only text.
type partsMessage struct {
	Role    string `json:"role"`
	Content []part `json:"content"`
	CallID  string `json:"tool_call_id,omitempty"` // of a tool's result
}

// part is one of ChatCompletionContentPart… in openai-go v3.96.0 (chatcompletion.go).
type part struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	ImageURL     *imageURL       `json:"image_url,omitempty"`
	File         *filePart       `json:"file,omitempty"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
}

type filePart struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
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
