package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"fika"
	"fika/internal/text/safetext"
	"fika/internal/tool"
)

const schema = `{"type":"object","properties":{
	"path":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":10},"deep":{"type":"boolean"},
	"mode":{"enum":["fast","slow"]},"tags":{"type":"array","items":{"type":"string"}},"maybe":{"type":["string","null"]},
	"at":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}},"required":["path"]}`

func TestValidate(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"path":"a"}`, ""},
		{`{"path":"a","limit":3,"deep":true,"mode":"fast","tags":["x"],"maybe":null,"at":{"x":1.5}}`, ""},
		{`{"path":"a","limit":null}`, ""},
		{`{"path":"a","limit":2.0}`, ""},
		{`{}`, "path is missing"},
		{`{"path":null}`, "path is missing"},
		{`{"Path":"a"}`, "did you mean path?"},
		{`{"file_path":"a"}`, "did you mean path?"},
		{`{"path":"a","limits":2}`, "did you mean limit?"},
		{`{"path":"a","qqqqqqqq":2}`, "there is at, deep, limit"},
		{`{"path":1}`, "path must be a string, not the number 1"},
		{`{"path":"a","limit":"3"}`, "limit must be a whole number, not a string"},
		{`{"path":"a","limit":1.5}`, "whole number"},
		{`{"path":"a","limit":0}`, "at least 1"},
		{`{"path":"a","limit":11}`, "at most 10"},
		{`{"path":"a","limit":1e999999999}`, "whole number"},
		{`{"path":"a","mode":"medium"}`, `mode must be one of "fast", "slow"`},
		{`{"path":"a","tags":["x",2]}`, "tags[1] must be a string"},
		{`{"path":"a","at":{}}`, "at.x is missing"},
		{`{"path":"a","path":"b"}`, `"path" is given twice`},
		{`[1]`, "send a JSON object"},
		{`{"path":"a"`, "not complete JSON"},
		{`{"path":"a"} {}`, "nothing else"},
		{`not json`, "not complete JSON"},
		{strings.Repeat(`{"a":`, 1_000_000), "nested"},
	} {
		err := tool.Spec{Parameters: json.RawMessage(schema)}.Validate(json.RawMessage(c.args))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%.80s: %v", c.args, err)
		case c.want != "" && (!fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%.80s: want %q, got %v", c.args, c.want, err)
		}
	}
}

func TestValidateLeavesOpenSchemasOpen(t *testing.T) {
	for _, s := range []string{
		``, `{}`, `{"type":"object"}`, `{"type":"object","properties":{"a":{}},"additionalProperties":true}`,
		`{"type":"object","properties":{"a":true},"anyOf":[{"required":["a"]}]}`,
		`{"properties":{"a":{"items":[{},{}]}},"additionalProperties":{"type":"string"}}`,
	} {
		if err := (tool.Spec{Parameters: json.RawMessage(s)}).Validate(json.RawMessage(`{"a":[1],"b":"x"}`)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if err := (tool.Spec{Parameters: json.RawMessage(`{"type":"object","additionalProperties":false}`)}).Validate(json.RawMessage(`{"b":1}`)); err == nil {
		t.Error("a closed schema took a stranger")
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(schema, `{"path":"a","limit":3}`)
	f.Add(`{"properties":{"a":{"type":["null"],"enum":[1,null],"minimum":1e5}}}`, `{"a":1e-3}`)
	f.Add(`true`, `{"a":[[{}]]}`)
	f.Fuzz(func(t *testing.T, s, args string) {
		err := tool.Spec{Parameters: json.RawMessage(s)}.Validate(json.RawMessage(args))
		if err == nil {
			var obj map[string]any
			if json.Unmarshal([]byte(args), &obj) != nil {
				t.Fatalf("accepted what is not an object: %q", args)
			}
			return
		}
		if !fika.IsKind(err, fika.Invalid) {
			t.Fatalf("kind of %v", err)
		}
		if text := safetext.Plain(tool.Refusal(err).Text); !utf8.ValidString(text) || len(text) > 4096+len(s) {
			t.Fatalf("message: %q", text)
		}
	})
}

// TestB10ExtraArgumentsAreHandedOnWhereTheToolTakesThem checks what JSON Schema says of
// unlisted names, at every depth; a closed schema stays closed.
func TestB10ExtraArgumentsAreHandedOnWhereTheToolTakesThem(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer"}}},"list":{"type":"array","items":{"type":"object","properties":{"c":{}}}}}}`)
	extra := tool.Spec{Parameters: schema, Extra: true}
	for _, args := range []string{`{"x":1}`, `{"a":{"b":1,"y":2}}`, `{"list":[{"c":1,"z":2}]}`} {
		if err := extra.Validate(json.RawMessage(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if err := (tool.Spec{Parameters: schema}).Validate(json.RawMessage(args)); err == nil {
			t.Errorf("%s: taken by a tool that lists all it takes", args)
		}
	}
	for _, args := range []string{`{"a":{"b":"one"}}`, `{"list":[1]}`} {
		if err := extra.Validate(json.RawMessage(args)); err == nil {
			t.Errorf("%s: what is listed is checked all the same", args)
		}
	}
	closed := tool.Spec{Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`), Extra: true}
	if err := closed.Validate(json.RawMessage(`{"x":1}`)); err == nil {
		t.Error("additionalProperties false does not hold")
	}
}

// A function without parameters takes no arguments, and says so in its schema.
func TestFuncWithoutParametersTakesNone(t *testing.T) {
	f := tool.Func[struct{}]{About: tool.Spec{Name: "now"}, Do: func(context.Context, tool.Call, struct{}) (tool.Result, error) { return tool.Result{Text: "now"}, nil }}
	if r, err := f.Call(t.Context(), tool.Call{Args: json.RawMessage(`{}`)}); err != nil || r.IsError {
		t.Error(r, err)
	}
	if r, err := f.Call(t.Context(), tool.Call{Args: json.RawMessage(`{"zone":"UTC"}`)}); err != nil || !r.IsError || !strings.Contains(r.Text, "zone is not an argument") {
		t.Error(r, err)
	}
	if s := string(f.Spec().Parameters); !strings.Contains(s, `"type":"object"`) {
		t.Error(s)
	}
}
