package cli_test

import (
	"strings"
	"testing"
)

// TestTheExamplesOfTheWorkflowsPage: the three examples of docs/WORKFLOWS.md run
// offline in the home that the page describes, and each result is made of what
// the steps before it gave.
func TestTheExamplesOfTheWorkflowsPage(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/WORKFLOWS.md")
	_, part, _ := strings.Cut(text, "## Three examples")
	part, _, _ = strings.Cut(part, "\n## ")
	files := fenced(part, "toml")
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	r := newReader(t)
	r.write(".fika/config.toml", files[0])
	r.write(".fika/rules.toml", files[1])
	want := map[string]string{
		"fika workflow run research":         "it streams; open it in a browser",
		"fika task \"researcher, coder\" --": "SQLite, as @researcher says",
		"fika task \"researcher, coder\" \"": "## coder\n\nPostgreSQL",
		"fika workflow run tandem":           "A letter in a circle (@coder)",
		"fika context log":                   "@reviewer begins",
	}
	for _, block := range fenced(part, "sh") {
		for line := range strings.Lines(block) {
			out := r.run(strings.TrimSpace(line), "")
			for start, words := range want {
				if strings.HasPrefix(line, start) {
					delete(want, start)
					has(t, line, out, words)
				}
			}
		}
	}
	for start := range want {
		t.Errorf("no example begins with %q", start)
	}
}
