package workflow_test

import (
	"strings"
	"testing"

	"fika/internal/workflow"
)

// TestBeginsForTeam: only a correctly written team begins a run; text that merely
// looks like one is plain text.
func TestBeginsForTeam(t *testing.T) {
	for text, want := range map[string]bool{
		"@a,@b: x":                            true,
		" @a, @b: x":                          true,
		"@a -> @b: x":                         true,
		"@a → @b -> @c: x\nand more":          true,
		"@a, @b --combine @c: x":              true,
		"@a --combine c: x":                   true,
		"@a: x":                               false,
		"@a x":                                false,
		"@a, @b what do you think: yes or no": false,
		"@a and @b: x":                        false,
		"@a, b: x":                            false,
		"@a → b: x":                           false,
		"@a => @b: x":                         false,
		"@a,: x":                              false,
		",@a: x":                              false,
		"hello @a, @b: x":                     false,
		"@a, @b --quickly: x":                 false,
		"@a, @b\n: x":                         false,
		"@a, @b":                              false,
		"":                                    false,
	} {
		if got := workflow.BeginsForTeam(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestParseLineCombines: a line may name the agent that makes one answer of all.
func TestParseLineCombines(t *testing.T) {
	known := []string{"a", "b", "writer"}
	for text, want := range map[string]string{
		"@a, @b --combine @writer: x":  "@a, @b --combine @writer",
		"@a,@b --combine=writer : x":   "@a, @b --combine @writer",
		"@a -> @b --combine\twriter:x": "@a -> @b --combine @writer",
		"@a, @b --combine writr: x":    `!agent "writr" not found; did you mean writer?`,
		"@a, @b --combine @a b: x":     "!--combine takes one agent",
		"@a, @b --combine: x":          "!--combine takes one agent",
		"@a, @b --combien writer: x":   `!option "--combien" not found: write "@a, @b --combine @writer: …"`,
		"@a, b --combine writer: x":    `!b needs an @: write "@a, @b --combine @writer: …"`,
	} {
		l, err := workflow.ParseLine(text, known)
		if wrong, ok := strings.CutPrefix(want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%q: %v, want %s", text, err, wrong)
			}
			continue
		}
		if err != nil || l.AddressText() != want || l.Prompt != "x" || len(l.Agents()) != 3 {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}
