package wire

import (
	"encoding/json"
	"testing"
)

// written is a body that one function writes.
type written func(w *Writer)

func (b written) WriteBody(w *Writer) { b(w) }

func TestBodyOfPieces(t *testing.T) {
	type pair struct {
		A string `json:"a"`
		B int    `json:"b,omitempty"`
	}
	raw, err := EncodeBody(written(func(w *Writer) {
		w.Text("{")
		w.Fields(pair{A: "<&>"})
		w.Text(`,"kept":`)
		w.Kept(json.RawMessage(`{"x":1}`))
		w.Text(`,"list":`)
		w.Value([]any{json.RawMessage(`{ "y" : 2 }`), "z"})
		w.Text("}")
	}))
	if want := `{"a":"<&>","kept":{"x":1},"list":[{"y":2},"z"]}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v instead of %s", raw, err, want)
	}
	if _, err := EncodeBody(written(func(w *Writer) { w.Fields(make(chan int)); w.Value(1) })); err == nil {
		t.Error("what is not a JSON is sent")
	}
	if raw, err := EncodeBody(pair{"x", 1}); err != nil || string(raw) != `{"a":"x","b":1}` {
		t.Errorf("%s, %v", raw, err)
	}
}
