package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const joinRules = `chunk = 5

[[rule]]
match = "fix it"
round = 1
reply = "I look first."
tool_calls = [{name = "edit", args = {path = "cart.go", old = "one", new = "two"}}, {name = "bash", args = {command = "echo the cause; exit 3"}}]

[[rule]]
match = "fix it"
round = 2
reply = "## Done\n\nIt was **one**.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end, @user."
`

// TestA5A6JoinShowsCallsAndDifferences joins a chat at a terminal: calls of
// tools, what an edit changes and how a call failed are seen, what is said is
// rendered and seen once, and is there as it was written for a program.
func TestA5A6JoinShowsCallsAndDifferences(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	h := newHome(t, "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n[[agents]]\nid = \"coder\"\nworkspace = \""+ws+"\"\ntool_permissions = [\"edit\", \"bash\"]\n")
	h.write("r.toml", joinRules)
	if err := os.WriteFile(filepath.Join(ws, "cart.go"), []byte("zero\none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(0, "chat", "new", "design")
	h.run(0, "up") // a hub that the join starts may have told of the first call before anybody listened
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.dialogue([][2]string{{"/quit leaves", "@coder fix it\r"}, {"The end,", ""}, {"#7", "/quit\r"}}, "chat", "join", "design"))
	shown = regexp.MustCompile(` \([0-9.]+m?s\)`).ReplaceAllString(shown, "") // of a busy machine
	for _, want := range []string{
		"coder\n  I look first.\n  ✎ cart.go  −1 +1\n    - one\n    + two\n  ✗ bash echo the cause; exit 3 exit 3\n    the cause\n",
		"\n  Done\n\n  It was one.\n\n  a │ b\n  ──┼──\n  1 │ 2\n\n  The end, @user.\n  #7\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
	out, _ := h.run(0, "chat", "view", "design")
	has(t, "for a program", out, `|coder|## Done\n\nIt was **one**.\n\n\| a \| b \|\n`)
}

// seen is what stays on a terminal of what was written to it: without styles,
// and of the rows that are drawn again and again only what comes after them.
func seen(written string) string {
	written = regexp.MustCompile(`\x1b\[\?2026h(?s:.*?)\x1b\[\?2026l`).ReplaceAllStringFunc(written, func(draw string) string {
		draw = strings.TrimPrefix(draw, "\x1b[?2026h")
		if at := strings.Index(draw, "\x1b[J\r"); at >= 0 {
			draw = draw[at+len("\x1b[J\r"):]
		}
		text, _, _ := strings.Cut(draw, "\x1b[?7l")
		return text
	})
	return regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][0-9]+;[^\x1b]*\x1b\\|\r`).ReplaceAllString(written, "")
}
