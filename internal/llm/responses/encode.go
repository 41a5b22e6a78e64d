package responses

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// body is a call as the server reads it: ResponseNewParams.
type body struct {
	options options
	tools   []llm.Tool
	input   []any
}

type options struct {
	Model        string     `json:"model"`
	Stream       bool       `json:"stream"`
	Store        bool       `json:"store"`
	Include      []string   `json:"include"`
	MaxTokens    int64      `json:"max_output_tokens,omitempty"`
	Reasoning    *reasoning `json:"reasoning,omitempty"`
	Text         any        `json:"text,omitempty"`
	Instructions string     `json:"instructions,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

// WriteBody implements [wire.Body].
func (b body) WriteBody(w *wire.Writer) {
	w.Text("{")
	w.Fields(b.options)
	if len(b.tools) > 0 {
		w.Text(`,"tools":[`)
		w.Room(b.tools)
		for i, t := range b.tools {
			if i > 0 {
				w.Text(",")
			}
			w.Text(`{"type":"function","strict":false,`)
			w.Tool(t, "parameters", json.Valid)
			w.Text("}")
		}
		w.Text("]")
	}
	w.Text(`,"input":`)
	w.Value(b.input)
	w.Text("}")
}

func encodeBody(name string, r llm.Request) body {
	o := options{
		Model: name, Stream: true, Include: []string{"reasoning.encrypted_content"}, MaxTokens: max(r.MaxTokens, 0), Instructions: r.System,
	}
	if effort := effortOf(r.Reasoning); effort != "" {
		o.Reasoning = &reasoning{effort, "auto"}
	}
	if len(r.Schema) > 0 {
		o.Text = map[string]any{"format": map[string]any{"type": "json_schema", "name": "answer", "schema": r.Schema, "strict": false}}
	}
	return body{o, r.Tools, inputItems(r.Messages)}
}

// effortOf returns the effort for what is wished: the API takes no number of tokens.
func effortOf(r *llm.Reasoning) string {
	switch {
	case r == nil || *r == (llm.Reasoning{}):
		return ""
	case r.Effort != "":
		return r.Effort
	case r.MaxTokens <= 2048:
		return "low"
	case r.MaxTokens <= 8192:
		return "medium"
	}
	return "high"
}

// inputItems turns messages into items. What the program says in the middle of a
// conversation travels as the user's.
func inputItems(messages []llm.Message) []any {
	out := []any{}
	for _, m := range messages {
		switch m.Role {
		case llm.Assistant:
			out = append(out, answerItems(m)...)
		case llm.ToolRole:
			out = append(out, resultItem{Type: "function_call_output", CallID: m.CallID, Output: contentOf(m)})
		default:
			out = append(out, messageItem{Type: "message", Role: "user", Content: contentOf(m)})
		}
	}
	return out
}

type messageItem struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type resultItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"`
}

type callItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Args   string `json:"arguments"`
}

// part is one of ResponseInputText, ResponseInputImage and ResponseInputFile.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Filename string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
}

// contentOf returns text as it is, or parts if there are pictures or documents.
func contentOf(m llm.Message) any {
	if len(m.Images) == 0 {
		return m.Text
	}
	parts := []part{{Type: "input_text", Text: m.Text}}
	for i, x := range m.Images {
		data := "data:" + x.MIME + ";base64," + base64.StdEncoding.EncodeToString(x.Data)
		if x.MIME == "application/pdf" {
			parts = append(parts, part{Type: "input_file", Filename: fmt.Sprintf("document%d.pdf", i+1), FileData: data})
			continue
		}
		parts = append(parts, part{Type: "input_image", ImageURL: data})
	}
	return parts
}

// answerItems returns the items of an answer as the server made them, if they still belong to
// the message, or else builds them anew.
func answerItems(m llm.Message) []any {
	if own, ok := blobOf(m); ok {
		out := make([]any, len(own.Output))
		for i, raw := range own.Output {
			out[i] = raw
		}
		return out
	}
	var out []any
	if strings.TrimSpace(m.Text) != "" || len(m.Calls) == 0 {
		out = append(out, messageItem{Type: "message", Role: "assistant", Content: m.Text})
	}
	for _, c := range m.Calls {
		out = append(out, callItem{Type: "function_call", CallID: c.ID, Name: c.Name, Args: c.Args})
	}
	return out
}

// blob is what is kept of an answer.
type blob struct {
	Role   string            `json:"role"`
	Output []json.RawMessage `json:"output"`
}

// blobOf returns the blob of a message if it is of this wire format and holds the message's
// calls and no others.
func blobOf(m llm.Message) (blob, bool) {
	var b blob
	if len(m.Blob) == 0 || json.Unmarshal(m.Blob, &b) != nil || b.Role != "assistant" || len(b.Output) == 0 {
		return b, false
	}
	var ids []string
	for _, raw := range b.Output {
		var i callItem
		if json.Unmarshal(raw, &i) != nil {
			return b, false
		}
		if i.Type == "function_call" {
			ids = append(ids, i.CallID)
		}
	}
	return b, slices.EqualFunc(ids, m.Calls, func(id string, c llm.Call) bool { return id == c.ID })
}
