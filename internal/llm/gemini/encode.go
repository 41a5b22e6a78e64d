package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// unsigned takes the place of the signature of a call that another model made:
// https://ai.google.dev/gemini-api/docs/thought-signatures
const unsigned = "skip_thought_signature_validator"

// body is a call as the API reads it.
type body struct {
	options options
	tools   []llm.Tool
	said    said
}

type options struct {
	Config config `json:"generationConfig"`
}

// config is GenerateContentConfig.
type config struct {
	MaxTokens int64           `json:"maxOutputTokens,omitempty"`
	Thinking  *thinking       `json:"thinkingConfig,omitempty"`
	MIME      string          `json:"responseMimeType,omitempty"`
	Schema    json.RawMessage `json:"responseJsonSchema,omitempty"`
}

// thinking is ThinkingConfig.
type thinking struct {
	Include bool   `json:"includeThoughts,omitempty"`
	Budget  *int64 `json:"thinkingBudget,omitempty"`
	Level   string `json:"thinkingLevel,omitempty"`
}

type said struct {
	System   *content  `json:"systemInstruction,omitempty"`
	Contents []content `json:"contents"`
}

// content is Content. Its parts stay raw, so that what the API signed goes back as it came.
type content struct {
	Role  string            `json:"role,omitempty"`
	Parts []json.RawMessage `json:"parts"`
}

// part is Part.
type part struct {
	Text      *string         `json:"text,omitempty"`
	Thought   bool            `json:"thought,omitempty"`
	Signature string          `json:"thoughtSignature,omitempty"`
	Inline    *inline         `json:"inlineData,omitempty"`
	Call      *functionCall   `json:"functionCall,omitempty"`
	Result    *functionResult `json:"functionResponse,omitempty"`
}

type inline struct {
	MIME string `json:"mimeType"`
	Data []byte `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResult struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

func (p part) raw() json.RawMessage {
	raw, err := json.Marshal(p)
	if err != nil { // Args was checked before; nothing else can fail
		return json.RawMessage(`{"text":"(unreadable)"}`)
	}
	return raw
}

func textPart(s string) json.RawMessage {
	if strings.TrimSpace(s) == "" {
		s = "(empty)"
	}
	return part{Text: &s}.raw()
}

// WriteBody implements [wire.Body].
func (b body) WriteBody(w *wire.Writer) {
	w.Text("{")
	w.Fields(b.options)
	if len(b.tools) > 0 {
		w.Text(`,"tools":[{"functionDeclarations":[`)
		w.Room(b.tools)
		for i, t := range b.tools {
			if i > 0 {
				w.Text(",")
			}
			w.Text("{")
			w.Tool(t, "parametersJsonSchema", wire.IsObject)
			w.Text("}")
		}
		w.Text("]}]")
	}
	w.Text(",")
	w.Fields(b.said)
	w.Text("}")
}

func encodeBody(name string, r llm.Request) body {
	o := options{config{MaxTokens: max(r.MaxTokens, 0), Thinking: thinkingFor(name, r.Reasoning)}}
	if len(r.Schema) > 0 && (len(r.Tools) == 0 || !isOlder(name)) { // those refuse a schema beside tools
		o.Config.MIME, o.Config.Schema = "application/json", r.Schema
	}
	s := said{Contents: contentsOf(r.Messages)}
	if strings.TrimSpace(r.System) != "" {
		s.System = &content{Parts: []json.RawMessage{textPart(r.System)}}
	}
	return body{o, r.Tools, s}
}

// thinkingFor asks for thinking in the words of the model's generation: a budget up to 2.5, a
// level since 3. https://ai.google.dev/gemini-api/docs/thinking
func thinkingFor(name string, r *llm.Reasoning) *thinking {
	if r == nil || *r == (llm.Reasoning{}) {
		return nil
	}
	budgets := map[string]int64{"none": 0, "minimal": 512, "low": 2048, "medium": 8192, "high": 24576, "xhigh": 24576, "max": 24576}
	if isOlder(name) {
		n := r.MaxTokens
		if r.Effort != "" {
			n = budgets[r.Effort]
		}
		if n == 0 && strings.Contains(name, "-pro") {
			n = 128 // cannot be turned off
		}
		return &thinking{Include: n > 0, Budget: &n}
	}
	level := "high"
	switch {
	case r.Effort == "none", r.Effort == "minimal", r.Effort == "low", r.Effort == "" && r.MaxTokens <= 4096:
		level = "low"
	}
	return &thinking{Include: true, Level: level}
}

// isOlder reports whether a model is of a generation before 3.
func isOlder(name string) bool {
	return strings.Contains(name, "gemini-1") || strings.Contains(name, "gemini-2")
}

// contentsOf turns messages into contents whose roles alternate and begin with the user. The
// results of calls follow their calls at once, in the order of the calls, without anything
// between: the API matches those without ids by their place.
func contentsOf(messages []llm.Message) []content {
	out := []content{}
	names := map[string]functionCall{} // our call id → the call as the API knows it
	add := func(role string, parts ...json.RawMessage) {
		if n := len(out); n == 0 || out[n-1].Role != role {
			out = append(out, content{Role: role})
		}
		last := &out[len(out)-1]
		last.Parts = append(last.Parts, parts...)
	}
	if len(messages) == 0 || messages[0].Role == llm.Assistant {
		add("user", textPart("(the conversation continues)"))
	}
	var calls []llm.Call // of the last answer
	for i := 0; i < len(messages); i++ {
		switch m := messages[i]; m.Role {
		case llm.Assistant:
			add("model", answerParts(m, names)...)
			calls = m.Calls
		case llm.ToolRole:
			results := messages[i:]
			if n := slices.IndexFunc(results, func(m llm.Message) bool { return m.Role != llm.ToolRole }); n >= 0 {
				results = results[:n]
			}
			i += len(results) - 1
			add("user", resultParts(results, calls, names)...)
		default:
			add("user", pictureParts(m.Images)...)
			add("user", textPart(m.Text))
		}
	}
	if out[len(out)-1].Role == "model" {
		add("user", textPart("Continue."))
	}
	return out
}

// resultParts returns the results of calls in the order of the calls, and after all of them
// their pictures.
func resultParts(results []llm.Message, calls []llm.Call, names map[string]functionCall) []json.RawMessage {
	place := func(m llm.Message) int {
		return slices.IndexFunc(calls, func(c llm.Call) bool { return c.ID == m.CallID })
	}
	results = slices.SortedStableFunc(slices.Values(results), func(a, b llm.Message) int { return place(a) - place(b) })
	var out, shown []json.RawMessage
	for _, m := range results {
		out = append(out, resultPart(m, names))
		shown = append(shown, pictureParts(m.Images)...)
	}
	return append(out, shown...)
}

func pictureParts(images []llm.Image) []json.RawMessage {
	var out []json.RawMessage
	for _, i := range images {
		out = append(out, part{Inline: &inline{i.MIME, i.Data}}.raw())
	}
	return out
}

func resultPart(m llm.Message, names map[string]functionCall) json.RawMessage {
	call, ok := names[m.CallID]
	if !ok {
		call = functionCall{ID: m.CallID, Name: "unknown"}
	}
	key := "result"
	if m.IsError {
		key = "error"
	}
	return part{Result: &functionResult{ID: call.ID, Name: call.Name, Response: map[string]string{key: m.Text}}}.raw()
}

// answerParts returns the parts of an answer as the API made them, if they still belong to
// the message, or else builds them anew. It notes how the API knows the calls.
func answerParts(m llm.Message, names map[string]functionCall) []json.RawMessage {
	if parts, calls, ok := blobOf(m); ok {
		for i, c := range m.Calls {
			names[c.ID] = calls[i]
		}
		return parts
	}
	var out []json.RawMessage
	if strings.TrimSpace(m.Text) != "" || len(m.Calls) == 0 {
		out = append(out, textPart(m.Text))
	}
	for i, c := range m.Calls {
		args := json.RawMessage(c.Args)
		if !wire.IsObject(args) {
			args = json.RawMessage("{}")
		}
		p := part{Call: &functionCall{c.ID, c.Name, args}}
		if i == 0 {
			p.Signature = unsigned
		}
		names[c.ID] = functionCall{ID: c.ID, Name: c.Name}
		out = append(out, p.raw())
	}
	return out
}

// blobOf returns the parts and calls of a message's blob if it is of this wire format and
// holds the message's calls and no others. The API need not name its calls.
func blobOf(m llm.Message) (parts []json.RawMessage, calls []functionCall, ok bool) {
	var c content
	if len(m.Blob) == 0 || json.Unmarshal(m.Blob, &c) != nil || c.Role != "model" || len(c.Parts) == 0 {
		return nil, nil, false
	}
	for _, raw := range c.Parts {
		var p part
		if json.Unmarshal(raw, &p) != nil {
			return nil, nil, false
		}
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	same := slices.EqualFunc(calls, m.Calls, func(a functionCall, b llm.Call) bool { return a.Name == b.Name && (a.ID == "" || a.ID == b.ID) })
	return c.Parts, calls, same
}
