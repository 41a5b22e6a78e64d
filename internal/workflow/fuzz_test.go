package workflow

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// fuzzScope returns the scope of a step in a repeat, with inputs of each type.
func fuzzScope() (scope, map[string]any) {
	d := &Definition{Inputs: []Input{{Name: "text", Type: TypeText}, {Name: "n", Type: TypeNumber}, {Name: "on", Type: TypeBoolean}, {Name: "list", Type: TypeList}}}
	data := map[string]any{
		"inputs": map[string]any{"text": "a\nb", "n": json.Number("3"), "on": true, "list": []any{"x", json.Number("1e2"), nil, map[string]any{"k": false}}},
		"item":   map[string]any{"name": "é"}, "index": json.Number("0"), "round": json.Number("1"), "last": "", "output": "x",
	}
	return scope{def: d, step: &Step{ID: "s"}, item: true, round: true, own: true}, data
}

func checkMistakes(t *testing.T, text string, wrong []mistake) {
	t.Helper()
	for _, m := range wrong {
		if m.at < 0 || m.at > len(text) || m.message == "" {
			t.Fatalf("%q: %q is said to be wrong at %d", text, m.message, m.at)
		}
	}
}

// FuzzCondition: an expression either has mistakes, each at a place within it, or
// gives the same result each time it is evaluated: an answer, a bounded list, or an
// error.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{"inputs.n > 2 and not inputs.on", "1..3", "filter(inputs.list, # != nil)", "é +", "split(inputs.text, \"\\n\")", "item.name[0:1] == 'é'", "all(1..10000, any(1..10000, # > 3))", "-9223372036854775808..1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sc, data := fuzzScope()
		for _, want := range []string{TypeBoolean, TypeList} {
			c, wrong := compileCondition(text, want, sc)
			checkMistakes(t, text, wrong)
			if (c == nil) == (len(wrong) == 0) {
				t.Fatalf("%q: %v and %v", text, c, wrong)
			}
			if c == nil {
				continue
			}
			list, err := c.list(data)
			again, errAgain := c.list(data)
			if len(list) > MaxItems || (err == nil) != (errAgain == nil) || !reflect.DeepEqual(list, again) {
				t.Fatalf("%q: %d items, %v, then %v", text, len(list), err, errAgain)
			}
			_, _ = c.truth(data)
		}
	})
}

// FuzzTemplate: a prompt either has mistakes, each at a place within it, or is filled
// in to a bounded text, the same each time.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"no more than text", "{{.inputs.text}} {{range .inputs.list}}{{.}}{{end}}", "é{{if", "{{json .inputs}}{{index .inputs.list 2}}", "{{define \"x\"}}{{end}}", "{{with .item}}{{.name}}{{else}}{{.round}}{{end}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sc, data := fuzzScope()
		made, wrong := compileTemplate(text, sc)
		checkMistakes(t, text, wrong)
		if (made == nil) == (len(wrong) == 0) {
			t.Fatalf("%q: %v and %v", text, made, wrong)
		}
		got, err := made.render(data)
		again, _ := made.render(data)
		if len(got) > MaxPrompt || got != again {
			t.Fatalf("%q: %d bytes, then %d", text, len(got), len(again))
		}
		if made != nil && !strings.Contains(text, "{{") && (err != nil || got != text) {
			t.Fatalf("%q became %q, %v", text, got, err)
		}
	})
}

// FuzzCheckOutput: a model's output is either refused or reduced to one JSON value in
// one form; checking that again changes nothing.
func FuzzCheckOutput(f *testing.F) {
	f.Add("```json\n{\"a\": [1, 2]}\n```", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}`)
	f.Add("1e400 2", `{}`)
	f.Add(strings.Repeat("[", 2000), `{"enum":[1]}`)
	f.Fuzz(func(t *testing.T, text, schema string) {
		s := &Step{Output: OutputJSON}
		if _, err := compileSchema([]byte(schema)); err == nil {
			s.Schema = json.RawMessage(schema)
		}
		got, err := s.CheckOutput(text)
		if err != nil {
			return
		}
		again, err := s.CheckOutput(got)
		if err != nil || again != got || !json.Valid([]byte(got)) || len(got) > MaxJSON {
			t.Fatalf("%q became %q, then %q, %v", text, got, again, err)
		}
		if _, err := (Output{Text: got, JSON: true}).value(); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
	})
}
