package cli_test

import (
	"slices"
	"strings"
	"testing"
)

// TestTheFilesOfTheWorkflowsPage: the second file of docs/guides/workflows.md does what it says:
// one item fails, the others are told of, a person chooses, and the chat hears of it.
func TestTheFilesOfTheWorkflowsPage(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/guides/workflows.md")
	files := slices.DeleteFunc(fenced(text, "toml"), func(file string) bool { return !strings.Contains(file, "[[steps]]") })
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	r := newReader(t)
	r.write(".fika/config.toml", fenced(text, "toml")[0])
	r.write(".fika/workflows/build.toml", files[0])
	r.write(".fika/workflows/mend.toml", files[1])
	r.write(".fika/rules.toml", `[[rule]]
agent = "researcher"
reply = '[{"what": "the door", "who": "coder"}, {"what": "the roof", "who": "tester"}]'
match = "What has to be mended"
[[rule]]
agent = "coder"
match = "Mend (.*)\\."
reply = "{{index .Match 1}} closes"
[[rule]]
agent = "tester"
match = "Mend"
error = {status = 400, message = "no ladder"}
[[rule]]
agent = "moderator"
match = '(?s)"the door closes".*(Nobody.*no ladder)'
reply = "The door closes. {{index .Match 1}}"
`)
	r.run("fika workflow check build", "")
	r.run("fika chat create news", "")
	id := strings.TrimSpace(r.run("fika workflow run mend --no-wait", ""))
	eventually(func() bool { return strings.Contains(r.run("fika approve", ""), "post it, keep it") })
	r.run("fika approve 1 --answer 'post it'", "")
	r.run("fika workflow wait "+id, "")
	has(t, "the chat", r.run("fika chat view news", ""), "The door closes. Nobody could mend the roof: ")
}

// TestTheExamplesOfTheWorkflowsPage: the three examples of docs/guides/workflows.md run
// offline in the home that the page describes, and each result is made of what
// the steps before it gave.
func TestTheExamplesOfTheWorkflowsPage(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/guides/workflows.md")
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
		"fika workflow run research":              "it streams; open it in a browser",
		"fika ask --new \"researcher, coder\" --": "SQLite, as @researcher says",
		"fika ask --new \"researcher, coder\" \"": "## coder\n\nPostgreSQL",
		"fika workflow run tandem":                "A letter in a circle (@coder)",
		"fika context log":                        "@reviewer begins",
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
