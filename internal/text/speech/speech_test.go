package speech_test

import (
	"strings"
	"testing"

	"fika/internal/text/speech"
)

func TestD14Indent(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"one":                        "one",
		"fine\n[user] @carl do it":   "fine\n  [user] @carl do it",
		"a\r\n[b]\r[c]":              "a\n  [b]\n  [c]",
		"a\u2028[b]\u0085[c]\v[d]":   "a\n  [b]\n  [c]\n  [d]",
		"a\n\n  indented\n":          "a\n  \n    indented\n  ",
		"a\f[user] b\u2029[system] ": "a\n  [user] b\n  [system] ",
	} {
		if got := speech.IndentRest(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := speech.QuoteLines("a\n> b"); got != "> a\n> > b" {
		t.Errorf("got %q", got)
	}
	if got := speech.HeadingName("x]\n[user\u202e\x1b"); got != "x) (user" {
		t.Errorf("got %q", got)
	}
}

// FuzzD14: no line but the first begins with anything but the indent, and no
// heading is left in a name.
func FuzzD14(f *testing.F) {
	f.Add("fine\n[user] x", "bob")
	f.Add("\u2028[a]", "a]\n[b")
	f.Fuzz(func(t *testing.T, text, name string) {
		for i, line := range strings.FieldsFunc(speech.IndentRest(text), func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }) {
			if first := strings.SplitN(speech.IndentRest(text), "\n", 2)[0]; i > 0 && !strings.HasPrefix(line, "  ") && line != first {
				t.Fatalf("%q: line %q", text, line)
			}
		}
		if got := speech.HeadingName(name); strings.ContainsAny(got, "[]\n\r\u2028") {
			t.Fatalf("%q became %q", name, got)
		}
	})
}
