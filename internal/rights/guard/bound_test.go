package guard

import (
	"slices"
	"strings"
	"testing"
)

// TestBound: everything that changed since a person said yes is named, once, even after
// the text was stored and parsed.
func TestBound(t *testing.T) {
	before := Bound{{"the call", "a"}, {"the folder it runs in", "b"}, {"odd\nname", "c"}, {"run.sh", "d"}}
	now := Bound{{"the call", "a"}, {"the folder it runs in", "x"}, {"odd\nname", "c"}, {"other.sh", "d"}}
	got := ParseBound(now.String()).Differences(ParseBound(before.String()))
	if want := []string{"the folder it runs in", "other.sh", "run.sh"}; !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q", got, want)
	}
	if again := before.Differences(before); again != nil {
		t.Errorf("nothing has changed, and yet %q", again)
	}
}

// TestExamples: the examples that a rule gives of a match and of a miss are right.
func TestExamples(t *testing.T) {
	for _, r := range []Rule{
		{Tool: "bash", Match: "git push origin *"}, {Tool: "bash", Match: "make *"}, {Tool: "bash", Match: "sh ./deploy.sh"}, {Tool: "bash", Match: "ls"},
		{Tool: "edit", Path: "docs/**"}, {Tool: "edit", Path: "a/*.md"}, {Tool: "read", Path: ".git/config"},
		{Tool: "fetch", Host: "example.org"}, {Tool: "fetch", Host: "*.example.org"},
	} {
		r.Do = Allow
		match, miss := r.Examples()
		for text, want := range map[string]Action{match: Allow, miss: Deny} {
			c := Call{Tool: r.Tool, Workspace: "/w"}
			switch {
			case r.Path != "":
				c.Paths = []string{text}
			case r.Host != "":
				c.Host = text
			default:
				c.Command = text
			}
			d := Decide(c, []Rule{r}, Facts{Default: Deny})
			if (d.Rule != nil) != (want == Allow) {
				t.Errorf("%s: %q is said to be covered: %v", r.TOML(), text, want == Allow)
			}
		}
	}
}

// FuzzBound: a stored answer parses to what it was, and any other text matches nothing.
func FuzzBound(f *testing.F) {
	f.Add("the call", "a", "odd\nname", "c")
	f.Add("", "", " ", "\r")
	f.Fuzz(func(t *testing.T, name, state, other, text string) {
		if strings.ContainsAny(state, " \n") || state == "" {
			ParseBound(text)
			return
		}
		b := Bound{{name, state}, {other, state}}
		stored := b.String()
		got := ParseBound(stored)
		if len(got) != len(b) || got.String() != stored || got[0].State != state || got[0].Name != strings.ReplaceAll(name, "\n", "?") {
			t.Fatalf("%q became %q", b, got)
		}
		if changed := got.Differences(ParseBound(stored)); changed != nil {
			t.Fatalf("%q: %q has changed by being stored", b, changed)
		}
		if state != text && len(got.Differences(Bound{{name, text}})) == 0 {
			t.Fatalf("%q passes for %q", text, state)
		}
	})
}
