package master

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Line{
		"":                          {},
		"  \t ":                     {},
		"hello":                     {Verb: Plain, Text: "hello"},
		"mail me@home":              {Verb: Plain, Text: "mail me@home"},
		"//etc is a folder":         {Verb: Plain, Text: "/etc is a folder"},
		"@coder: do it":             {Verb: Ask, Agent: "coder", Text: "do it"},
		"@coder do it":              {Verb: Ask, Agent: "coder", Text: "do it"},
		"@Coder:task: do: it":       {Verb: Task, Agent: "Coder", Text: "do: it"},
		"@coder:TASK: do it":        {Verb: Task, Agent: "coder", Text: "do it"},
		"@coder:task do it":         {Verb: Task, Agent: "coder", Text: "do it"},
		"@coder:ask: a\nb":          {Verb: Ask, Agent: "coder", Text: "a\nb"},
		"@coder: task: a":           {Verb: Ask, Agent: "coder", Text: "task: a"},
		"@coder:http://x says what": {Verb: Ask, Agent: "coder", Text: "http://x says what"},
		"@coder:note: buy milk":     {Verb: Ask, Agent: "coder", Text: "note: buy milk"},
		"@coder:reset":              {Verb: Reset, Agent: "coder"},
		"@coder:reset:":             {Verb: Reset, Agent: "coder"},
		"/agents  start  x":         {Verb: Command, Words: []string{"agents", "start", "x"}},
		"/":                         {Verb: "error"},
		"@":                         {Verb: "error"},
		"@coder":                    {Verb: "error"},
		"@coder:":                   {Verb: "error"},
		"@coder:task:":              {Verb: "error"},
		"@coder:tsak: do it":        {Verb: "error"},
		"@coder:tasks: do it":       {Verb: "error"},
		"@coder:reset: everything":  {Verb: "error"},
		"@: hello":                  {Verb: "error"},
		"@some-one do it":           {Verb: Ask, Agent: "some-one", Text: "do it"},
		"@coder: -> @reviewer":      {Verb: Ask, Agent: "coder", Text: "-> @reviewer"},
		"@coder: a → @b: c":         {Verb: Ask, Agent: "coder", Text: "a → @b: c"},
	} {
		got, err := ParseLine(text)
		if err != nil {
			if !fika.IsKind(err, fika.Invalid) {
				t.Errorf("%q: %v", text, err)
			}
			got = Line{Verb: "error"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got:\n%s", text, diff)
		}
	}
}

// TestE4Teams: a line for several agents is one for all of them.
func TestE4Teams(t *testing.T) {
	for text, want := range map[string]string{
		"@a,@b: x": "@a, @b", "@a, @b: x": "@a, @b", "@a → @b: x": "@a -> @b", "@a->@b: x": "@a -> @b",
		"@a -> @b -> @c: x": "@a -> @b -> @c", "@a,@b → @c: x": "@a, @b -> @c",
		"@a, @b --combine @c: x": "@a, @b --combine @c", "@a,@b --combine=c: x": "@a, @b --combine @c", "@a -> @b --combine c: x": "@a -> @b --combine @c",
		"@a --combine @c: x": "@a --combine @c",
	} {
		if l, err := ParseLine(text); err != nil || l.Verb != Team || l.Team.AddressText() != want || l.Text != "x" {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

// TestE4Refused: what looks like a team or a verb that does not exist is never
// sent as text, and the error has the right spelling.
func TestE4Refused(t *testing.T) {
	for text, hint := range map[string]string{
		"@a → b: x":               `write "@a -> @b: …"`,
		"@a -> b -> c: x":         `write "@a -> @b -> @c: …"`,
		"@a=>@b: x":               `write "@a -> @b: …"`,
		"@a→@b x":                 "",
		"@a @b: x":                `write "@a, @b: …"`,
		"@a  @b\t@c: x":           `write "@a, @b, @c: …"`,
		"@a,@a: x":                "named twice",
		"@a,@b --combin c: x":     `write "@a, @b --combine @c: …"`,
		"@a,b --combine c: x":     `write "@a, @b --combine @c: …"`,
		"@a,@b --combine: x":      `write "@a, @b --combine @c: …"`,
		"@a,@b --combine c d: x":  `write "@a, @b --combine @c: …"`,
		"@a,@b --quickly: x":      `option "--quickly" not found: write "@a, @b: …"`,
		"@a,@b:reset":             "@a:reset and @b:reset",
		"@a:task → @b: x":         "before the first colon",
		"@a:taks: x":              "did you mean @a:task:?",
		"@a:taks x":               "did you mean @a:task:?",
		"@a:tsk: x":               "did you mean @a:task:?",
		"@a:atsk: x":              "did you mean @a:task:?",
		"@a:aks: x":               "did you mean @a:ask:?",
		"@a:rest":                 "did you mean @a:reset:?",
		"@a:rseet: x":             "did you mean @a:reset:?",
		"@a:Tasks: do everything": "did you mean @a:task:?",
	} {
		if l, err := ParseLine(text); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "@coder:task: x", "@a:reset", "/agents list", "//x", "@:::", "@coder:tsak: x", "\x00@", "@é: ü"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLine(s)
		switch {
		case err != nil:
			if !fika.IsKind(err, fika.Invalid) {
				t.Fatal(err)
			}
		case (l.Verb == Ask || l.Verb == Task) && (l.Agent == "" || l.Text == "" || strings.ContainsAny(l.Agent, ": \n")),
			l.Verb == Plain && l.Text == "", l.Verb == Command && len(l.Words) == 0:
			t.Fatalf("%q became %+v", s, l)
		}
	})
}
