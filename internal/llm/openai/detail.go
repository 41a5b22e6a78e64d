package openai

import (
	"encoding/json"
	"maps"

	"fika/internal/llm/wire"
)

// detail is one block of OpenRouter's reasoning_details. Its pieces share type
// and index and follow each other: texts are joined, other fields (a signature,
// an id) are set when they come. Encrypted blocks come whole.
type detail struct {
	fields        map[string]json.RawMessage
	text, summary wire.Joiner
}

// continuesBlock reports whether a piece belongs to the block d.
func (d *detail) continuesBlock(next map[string]json.RawMessage) bool {
	return string(next["type"]) != `"reasoning.encrypted"` &&
		string(next["type"]) == string(d.fields["type"]) &&
		string(next["index"]) == string(d.fields["index"])
}

func (d *detail) addPiece(next map[string]json.RawMessage) {
	for key, value := range next {
		var t wire.Text
		switch key {
		case "text":
			_ = json.Unmarshal(value, &t)
			d.text.Add(t)
		case "summary":
			_ = json.Unmarshal(value, &t)
			d.summary.Add(t)
		}
		if old := d.fields[key]; len(old) == 0 || string(value) != "null" {
			d.fields[key] = value
		}
	}
}

// raw returns the whole block as it must be sent back.
func (d *detail) raw() json.RawMessage {
	d.text.Close()
	d.summary.Close()
	fields := maps.Clone(d.fields)
	for key, j := range map[string]*wire.Joiner{"text": &d.text, "summary": &d.summary} {
		if j.Len() == 0 {
			continue
		}
		if quoted, err := json.Marshal(j.String()); err == nil {
			fields[key] = quoted
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return out
}

// addDetail adds a piece of reasoning_details and returns the text to show for it.
func (a *answer) addDetail(raw json.RawMessage) wire.Text {
	var next map[string]json.RawMessage
	if json.Unmarshal(raw, &next) != nil || len(next) == 0 {
		return ""
	}
	a.size += len(raw)
	if n := len(a.details); n == 0 || !a.details[n-1].continuesBlock(next) {
		a.details = append(a.details, &detail{fields: map[string]json.RawMessage{}})
	}
	a.details[len(a.details)-1].addPiece(next)
	var shown struct {
		Text    wire.Text `json:"text"`
		Summary wire.Text `json:"summary"`
	}
	_ = json.Unmarshal(raw, &shown)
	return shown.Text + shown.Summary
}

func (a *answer) rawDetails() []json.RawMessage {
	var out []json.RawMessage
	for _, d := range a.details {
		if raw := d.raw(); raw != nil {
			out = append(out, raw)
		}
	}
	return out
}
