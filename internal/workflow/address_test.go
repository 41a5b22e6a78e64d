package workflow_test

import (
	"strings"
	"testing"

	"fika"
	"fika/internal/workflow"
)

func TestParseAddress(t *testing.T) {
	known := []string{"a", "b", "c", "bash_helper", "x-y"}
	for text, want := range map[string]string{
		"a":                       "@a",
		"a,b":                     "@a, @b",
		" @a , b ":                "@a, @b",
		"a -> b":                  "@a -> @b",
		"a->b->a":                 "@a -> @b -> @a",
		"@a → @b → @bash_helper":  "@a -> @b -> @bash_helper",
		"A,b -> x-y":              "@a, @b -> @x-y",
		"x-y->a":                  "@x-y -> @a",
		"":                        "!no agent is named",
		",":                       "!no agent is named",
		"a,":                      `!a name is missing at the end: write "a"`,
		"-> a":                    `!a name is missing before "->": write "a"`,
		"a b":                     "!between a and b there is neither a comma",
		"a => b":                  `!"=>" is not understood: write "a -> b"`,
		"a --> b":                 `!"-->" is not understood: write "a -> b"`,
		"a & b":                   `!"&" is not understood: write "a, b"`,
		"a;b":                     `!";" is not understood: write "a, b"`,
		"a,@":                     "!a name is missing behind an @",
		"a,a":                     "!@a is named twice",
		"a,bb":                    `!agent "bb" not found; did you mean b?`,
		"a,zzzz":                  `!agent "zzzz" not found; known: a, b, c`,
		"a,all":                   `!"all" is reserved`,
		"a,é":                     "!is not a name",
		strings.Repeat("a->", 60): "!60 agents are named, more than 50",
	} {
		got, err := workflow.ParseAddress(text, known)
		if wrong, ok := strings.CutPrefix(want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%q: %v, want %s", text, err, wrong)
			}
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// TestE4ParseLine: everything before the prompt is either understood or refused with
// the right spelling, and never sent as text.
func TestE4ParseLine(t *testing.T) {
	known := []string{"a", "b", "c"}
	for _, tt := range []struct{ line, team, verb, prompt, wrong string }{
		{line: "@a: x", team: "@a", prompt: "x"},
		{line: "@a:task: x", team: "@a", verb: "task", prompt: "x"},
		{line: "@a,@b: find: it", team: "@a, @b", prompt: "find: it"},
		{line: "@a -> @b -> @c: x", team: "@a -> @b -> @c", prompt: "x"},
		{line: "@a → @b:task: x\ny", team: "@a -> @b", verb: "task", prompt: "x\ny"},
		{line: "@a:reset", team: "@a", verb: "reset"},
		{line: "@a: note: this", team: "@a", prompt: "note: this"},
		{line: "@a:(why)", team: "@a", prompt: "(why)"},
		{line: "@a → b: x", wrong: `b needs an @: write "@a -> @b: …"`},
		{line: "@a:taks: x", wrong: `verb "taks" not found; did you mean "@a:task: …"?`},
		{line: "@a,@b:aks: x", wrong: `did you mean "@a, @b:ask: …"?`},
		{line: "@a:http://x", wrong: `verb "http" not found: write "@a: http://x" with a space`},
		{line: "@a:task x", team: "@a", verb: "task", prompt: "x"},
		{line: "@a:TASK: x", team: "@a", verb: "task", prompt: "x"},
		{line: "@a:fix it", team: "@a", prompt: "fix it"},
		{line: "@a:taks x", wrong: `did you mean "@a:task: …"?`},
		{line: "@a:tasks", wrong: `did you mean "@a:task: …"?`},
		{line: "@a @b: x", wrong: "neither a comma"},
		{line: "@a and @b: x", wrong: `between a and and there`},
		{line: "@a -> @b", wrong: `there is no colon behind @a -> @b`},
		{line: "@a do this", wrong: "neither a comma"},
		{line: "@a,@b:reset", wrong: "@a:reset and @b:reset, each on a line of its own"},
		{line: "@a:", wrong: "the prompt is missing: @a: PROMPT"},
		{line: "@d: x", wrong: `agent "d" not found; known: a, b, c`},
		{line: "a: x", wrong: "begins with @"},
	} {
		got, err := workflow.ParseLine(tt.line, known)
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%q: %v, want %s", tt.line, err, tt.wrong)
			}
			continue
		}
		if err != nil || got.String() != tt.team || got.Verb != tt.verb || got.Prompt != tt.prompt {
			t.Errorf("%q: %+v, %v", tt.line, got, err)
		}
	}
}

func TestNamesTeam(t *testing.T) {
	for text, want := range map[string]bool{
		"@a": false, "@a,": false, "": false, "@a please look": false, "@a, please look": false, "@a - first": false,
		"@a, @b": true, "@a → b": true, "@a -> b": true, "@a,b": true, "@a => @b": true, "@a > b , c": true, "a --> b": true,
	} {
		if got := workflow.NamesTeam(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestAddressDefinition: a prompt is plain text, whatever braces it contains.
func TestAddressDefinition(t *testing.T) {
	a, err := workflow.ParseAddress("a,b -> a", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := a.Definition("c")
	data, err := d.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	if d, err = workflow.Thaw(data); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range d.Steps {
		ids = append(ids, s.ID+"("+strings.Join(s.Needs, " ")+")")
	}
	if got := strings.Join(ids, " "); got != "a() b() a_2(a b) c(a_2)" {
		t.Errorf("steps %s", got)
	}
	if in, err := d.Bind(map[string]string{"prompt": "{{.x}}"}, nil); err != nil || in["prompt"] != "{{.x}}" {
		t.Errorf("%v, %v", in, err)
	}
}

// FuzzParseLine: a line is either understood or refused, and a line that is
// understood can be written again with the same meaning.
func FuzzParseLine(f *testing.F) {
	for _, s := range []string{"@a: x", "@a,@b: x", "@a -> @b: x", "@a → b: x", "@a:taks: x", "@a:task: x", "@-: x", "@a-->@b:x", "@a\n@b: x", "@:", "@a:reset"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := workflow.ParseLine(text, nil)
		if err != nil {
			if !fika.IsKind(err, fika.Invalid, fika.NotFound) {
				t.Fatalf("%q: %v is of kind %s", text, err, fika.KindOf(err))
			}
			return
		}
		again := l.AddressText() + ": " + l.Prompt
		if l.Verb != "" {
			again = l.AddressText() + ":" + l.Verb + ": " + l.Prompt
		}
		same, err := workflow.ParseLine(again, nil)
		if err != nil || same.AddressText() != l.AddressText() || same.Verb != l.Verb || same.Prompt != l.Prompt {
			t.Fatalf("%q became %q: %+v, %v", text, again, same, err)
		}
		if d := l.Address.Definition("z"); len(d.Steps) < 2 {
			t.Fatalf("%q: %d steps", text, len(d.Steps))
		}
	})
}
