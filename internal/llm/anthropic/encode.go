package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// defaultMaxTokens is the room for an answer if neither the request sets one nor the
// model's maximum is known.
const defaultMaxTokens = 8192

// cacheMark asks the API to cache everything up to the block that carries it.
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching: tools,
// then system, then messages; at most four marks. What is marked with longCacheMark is kept
// for an hour instead of five minutes.
const (
	cacheMark     = `{"type":"ephemeral"}`
	longCacheMark = `{"type":"ephemeral","ttl":"1h"}`
)

// body is a call as the API reads it. The parts that the provider caches by their
// beginning come last, in the order in which they are cached.
type body struct {
	options options
	tools   []llm.Tool
	said    said
	mark    string
}

// options holds the fields that come first.
type options struct {
	Model        string `json:"model"`
	MaxTokens    int64  `json:"max_tokens"`
	Stream       bool   `json:"stream"`
	Thinking     any    `json:"thinking,omitempty"`
	OutputConfig any    `json:"output_config,omitempty"`
}

// said holds the fields that come after the tools.
type said struct {
	System   []rawBlock   `json:"system,omitempty"`
	Messages []rawMessage `json:"messages"`
}

// WriteBody implements [wire.Body].
func (b body) WriteBody(w *wire.Writer) {
	w.Text("{")
	w.Fields(b.options)
	if len(b.tools) > 0 {
		w.Text(`,"tools":[`)
		writeTools(w, b.tools, b.mark)
		w.Text("]")
	}
	w.Text(",")
	w.Fields(b.said)
	w.Text("}")
}

// writeTools marks the last tool for the cache.
func writeTools(w *wire.Writer, tools []llm.Tool, mark string) {
	w.Room(tools)
	for i, t := range tools {
		if i > 0 {
			w.Text(",")
		}
		w.Text("{")
		w.Tool(t, "input_schema", isObject)
		if i == len(tools)-1 {
			w.Text(`,"cache_control":` + mark)
		}
		w.Text("}")
	}
}

// encodeBody returns the body of a call.
func (m *model) encodeBody(r llm.Request) body {
	b := options{Model: m.opts.Model, Stream: true}
	t := m.family.thinkingFor(r)
	b.MaxTokens = m.maxTokens(r, t.room)
	if m.family.structured && closedSchema(r.Schema) {
		t.output.Format = &outputFormat{"json_schema", r.Schema}
	}
	b.Thinking, b.OutputConfig = t.config, t.output.orNil()
	var s said
	if strings.TrimSpace(r.System) != "" {
		s.System = []rawBlock{{Type: "text", Text: r.System, CacheControl: json.RawMessage(m.mark())}}
	}
	s.Messages = acceptedMessages(r.Messages, t.replay, m.mark())
	return body{options: b, tools: r.Tools, said: s, mark: m.mark()}
}

func (m *model) mark() string {
	if m.opts.CacheHour {
		return longCacheMark
	}
	return cacheMark
}

// maxTokens returns the output limit of a call, thinking included: what the request sets
// plus the room for thinking, else as much as the model can write and its window leaves.
func (m *model) maxTokens(r llm.Request, room int64) int64 {
	switch {
	case r.MaxTokens > 0 && m.opts.MaxOutput > 0:
		return min(r.MaxTokens+room, max(m.opts.MaxOutput, r.MaxTokens))
	case r.MaxTokens > 0:
		return r.MaxTokens + room
	case m.opts.MaxOutput <= 0:
		return defaultMaxTokens + room
	case m.opts.Window <= 0:
		return m.opts.MaxOutput
	}
	// Older models refuse a call whose prompt and limit exceed the window. An estimate may
	// be wrong by half.
	left := m.opts.Window - 2*wire.EstimateInput(r)
	return max(min(m.opts.MaxOutput, left), min(m.opts.MaxOutput, defaultMaxTokens+room))
}

// rawMessage is a message as it is sent. Its blocks stay raw, so that what the API
// signed goes back byte for byte.
type rawMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

type rawBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Source       *rawSource      `json:"source,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      any             `json:"content,omitempty"` // of a result: text, or a list of blocks
	IsError      bool            `json:"is_error,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    *string         `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
}

func (b rawBlock) raw() json.RawMessage {
	raw, err := json.Marshal(b)
	if err != nil { // Input was checked before; nothing else can fail
		return json.RawMessage(`{"type":"text","text":"(unreadable)"}`)
	}
	return raw
}

// acceptedMessages turns messages into what the API accepts: roles that alternate and
// begin and end with the user, results before text, unique ids, no empty text. The last
// block that the next call will also have is marked for the cache.
func acceptedMessages(messages []llm.Message, replay replay, mark string) []rawMessage {
	w := builder{mark: mark, current: map[string]string{}, used: map[string]bool{}}
	loop := loopStart(messages)
	for i, m := range messages {
		w.passing = m.Passing
		switch m.Role {
		case llm.Assistant:
			w.thoughts = replay == replayAll || replay == replayLoop && i >= loop
			w.addBlocks("assistant", w.assistantBlocks(m)...)
		case llm.ToolRole:
			w.addBlocks("user", w.resultBlock(m))
		default:
			w.addBlocks("user", pictureBlocks(m.Images)...)
			w.addBlocks("user", rawBlock{Type: "text", Text: orPlaceholder(m.Text)}.raw())
		}
	}
	if n := len(w.out); n == 0 || w.out[n-1].role == "assistant" {
		w.passing = true
		w.addBlocks("user", textBlock("Continue."))
	}
	if w.out[0].role == "assistant" {
		w.out = append([]draft{{"user", []piece{{raw: textBlock("(the conversation continues)")}}}}, w.out...)
	}
	return w.finishedMessages()
}

// pictureBlocks returns the blocks of pictures and documents, which come before a
// message's text. https://platform.claude.com/docs/en/build-with-claude/vision and
// /pdf-support
func pictureBlocks(images []llm.Image) []json.RawMessage {
	var out []json.RawMessage
	for _, i := range images {
		kind := "image"
		if i.MIME == "application/pdf" {
			kind = "document"
		}
		source := rawSource{Type: "base64", MediaType: i.MIME, Data: base64.StdEncoding.EncodeToString(i.Data)}
		out = append(out, rawBlock{Type: kind, Source: &source}.raw())
	}
	return out
}

// rawSource is a picture's data.
type rawSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// loopStart returns the index after the user's last message, where the running tool loop
// begins.
func loopStart(messages []llm.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == llm.User {
			return i + 1
		}
	}
	return 0
}

type builder struct {
	mark     string // of what is cached
	out      []draft
	current  map[string]string // our call id → the id on the wire
	used     map[string]bool   // ids on the wire
	passing  bool              // blocks added now may be missing from the next call
	thoughts bool              // reasoning goes back too
}

// draft is a message that may still grow.
type draft struct {
	role   string
	pieces []piece
}

type piece struct {
	raw     json.RawMessage
	passing bool
}

func (w *builder) addBlocks(role string, blocks ...json.RawMessage) {
	if len(blocks) == 0 {
		return
	}
	if n := len(w.out); n == 0 || w.out[n-1].role != role {
		w.out = append(w.out, draft{role: role})
	}
	last := &w.out[len(w.out)-1]
	for _, raw := range blocks {
		last.pieces = append(last.pieces, piece{raw, w.passing})
	}
}

// finishedMessages returns the drafts as they are sent, with two cache marks: at the end of
// what the next call will repeat, and where the call before this one had that mark. The API
// looks for an earlier mark 20 blocks back only, which a round of parallel calls exceeds.
// A mark is at the end of its block, so that everything before it is the same as without it.
func (w *builder) finishedMessages() []rawMessage {
	out := make([]rawMessage, len(w.out))
	var last, before *json.RawMessage // the last stable block, and that before the last answer
	stable := true
	for i, d := range w.out {
		if d.role == "user" {
			d.pieces = resultsFirst(d.pieces)
		} else if stable {
			before = last
		}
		out[i] = rawMessage{d.role, make([]json.RawMessage, len(d.pieces))}
		for k, p := range d.pieces {
			out[i].Content[k] = p.raw
			stable = stable && !p.passing
			if stable && !isThought(p.raw) {
				last = &out[i].Content[k]
			}
		}
	}
	if last != nil {
		*last = withMark(*last, w.mark)
	}
	if before != nil && before != last {
		*before = withMark(*before, w.mark)
	}
	return out
}

func withMark(block json.RawMessage, mark string) json.RawMessage {
	inner := bytes.TrimSuffix(bytes.TrimSpace(block), []byte("}"))
	return slices.Concat(inner, []byte(`,"cache_control":`+mark+`}`))
}

func (w *builder) assistantBlocks(m llm.Message) []json.RawMessage {
	if own, ok := blobOf(m); ok {
		for _, c := range m.Calls {
			w.current[c.ID], w.used[c.ID] = c.ID, true
		}
		if !w.thoughts {
			own.Content = slices.DeleteFunc(own.Content, isThought)
		}
		if len(own.Content) > 0 {
			return own.Content
		}
	}
	var out []json.RawMessage
	if strings.TrimSpace(m.Text) != "" {
		out = append(out, textBlock(m.Text))
	}
	for _, c := range m.Calls {
		id := w.nameCall(c.ID)
		w.current[c.ID] = id
		input := json.RawMessage(c.Args)
		if !isObject(input) {
			input = json.RawMessage("{}")
		}
		out = append(out, rawBlock{Type: "tool_use", ID: id, Name: c.Name, Input: input}.raw())
	}
	return out
}

func (w *builder) resultBlock(m llm.Message) json.RawMessage {
	id, ok := w.current[m.CallID]
	if !ok {
		id = safeID(m.CallID)
	}
	b := rawBlock{Type: "tool_result", ToolUseID: id, Content: orPlaceholder(m.Text), IsError: m.IsError}
	if len(m.Images) > 0 { // ToolResultBlockParamContentUnion in anthropic-sdk-go v1.84.0
		b.Content = append([]json.RawMessage{textBlock(orPlaceholder(m.Text))}, pictureBlocks(m.Images)...)
	}
	return b.raw()
}

// nameCall returns an id for a call that the API accepts and that no other call has.
func (w *builder) nameCall(id string) string {
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

// blobOf parses the blob of a message if it is of this wire format and holds the
// message's calls and no others: the results that follow answer those.
func blobOf(m llm.Message) (rawMessage, bool) {
	var blob rawMessage
	if len(m.Blob) == 0 || json.Unmarshal(m.Blob, &blob) != nil || blob.Role != "assistant" || len(blob.Content) == 0 {
		return blob, false
	}
	var calls []string
	for _, raw := range blob.Content {
		var call struct{ Type, ID string }
		if json.Unmarshal(raw, &call) == nil && call.Type == "tool_use" {
			calls = append(calls, call.ID)
		}
	}
	return blob, slices.EqualFunc(calls, m.Calls, func(id string, c llm.Call) bool { return id == c.ID })
}

func resultsFirst(pieces []piece) []piece {
	out := make([]piece, 0, len(pieces))
	for _, results := range []bool{true, false} {
		for _, p := range pieces {
			if (blockType(p.raw) == "tool_result") == results {
				out = append(out, p)
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

func textBlock(text string) json.RawMessage { return rawBlock{Type: "text", Text: text}.raw() }

// orPlaceholder replaces text that the API refuses because it is empty.
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
