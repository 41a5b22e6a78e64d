package wire

import (
	"bytes"
	"encoding/json"

	"fika/internal/llm"
)

// Body is a request body that writes itself, because most of it is JSON already.
// [Endpoint.Post] encodes any other value with encoding/json.
type Body interface {
	WriteBody(w *Writer)
}

// Writer joins JSON from pieces. JSON known to be in canonical form is copied as it is:
// parsing the parameters of a hundred tools again before each call would take longer
// than everything else done for the call. The first error is kept.
type Writer struct {
	out bytes.Buffer
	enc *json.Encoder
	err error
}

// EncodeBody returns the JSON of a body, without HTML escaping, so that what a provider
// has made goes back byte for byte.
func EncodeBody(body any) ([]byte, error) {
	w := &Writer{}
	w.enc = json.NewEncoder(&w.out)
	w.enc.SetEscapeHTML(false)
	if b, ok := body.(Body); ok {
		b.WriteBody(w)
	} else {
		w.Value(body)
	}
	return w.out.Bytes(), w.err
}

// Room reserves space for the descriptions of tools.
func (w *Writer) Room(tools []llm.Tool) {
	n := 0
	for _, t := range tools {
		n += len(t.Name) + len(t.Description)*9/8 + len(t.Parameters) + 100
	}
	w.out.Grow(n)
}

// Text writes punctuation and names.
func (w *Writer) Text(s string) { w.out.WriteString(s) }

// Value writes any value.
func (w *Writer) Value(v any) {
	if err := w.enc.Encode(v); err != nil && w.err == nil {
		w.err = err
		return
	}
	w.out.Truncate(max(w.out.Len()-1, 0)) // the newline
}

// Fields writes the fields of a struct without its braces.
func (w *Writer) Fields(v any) {
	start := w.out.Len()
	w.Value(v)
	if w.err != nil {
		return
	}
	written := w.out.Bytes()[start:]
	copy(written, written[1:])
	w.out.Truncate(w.out.Len() - 2)
}

// Kept writes JSON that was parsed and written in canonical form when it was kept.
func (w *Writer) Kept(raw json.RawMessage) { w.out.Write(raw) }

// Tool writes the fields of a tool, with its parameters under the provider's key.
// Parameters that usable rejects are replaced by those of a tool without arguments.
func (w *Writer) Tool(t llm.Tool, key string, usable func([]byte) bool) {
	w.Fields(&struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}{t.Name, t.Description})
	w.Text(`,"` + key + `":`)
	switch {
	case t.Kept:
		w.Kept(t.Parameters)
	case usable(t.Parameters):
		w.Value(t.Parameters)
	default:
		w.Text(`{"type":"object","properties":{}}`)
	}
}
