package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sessionHome = "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n[[agents]]\nid = \"coder\"\n[[agents]]\nid = \"reviewer\"\n"

// TestA7Session opens fika alone at a terminal: text without a name goes to the
// agent spoken to last, commands say how things stand, ctrl-c cancels what runs,
// and whoever comes back finds what was said.
func TestA7Session(t *testing.T) {
	t.Parallel()
	h := newHome(t, sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"^one$\"\nreply = \"**first** answer\"\n[[rule]]\nmatch = \"hang\"\nstall = true\n[[rule]]\nagent = \"reviewer\"\nmatch = \"look|two\"\nreply = \"I looked.\"\n[[rule]]\nmatch = \"one\"\nreply = \"**first** answer\"\n")
	t.Cleanup(func() { h.run(0, "down") })
	written := h.dialogue([][2]string{
		{"/help", "one\r"}, {" answer", "@reviewer look\r"}, {"I looked.", "two\r"}, {"> two\r\n", ""}, {"I looked.", "/agents\r"}, {"STATUS", "/cost\r"},
		{"this session: ", "@coder hang\r"}, {"coder thinking 1s", "\x03"}, {"cancelling what @coder does", "/help\r"}, {"begin another session", "/quit\r"},
	})
	for _, want := range []string{"\x1b[22;2t\x1b]2;fika s-", ": coder\x1b\\", "\x1b[23;2t"} {
		if !strings.Contains(written, want) {
			t.Errorf("the title of the window: %q was not written", want)
		}
	}
	shown := seen(written)
	for _, want := range []string{
		"fika · 2 agents · home ", "> one\ncoder  first answer\n> @reviewer look\nreviewer  I looked.\n", "> two\n", "> @coder hang\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
	again := seen(h.dialogue([][2]string{{"> two", "/new\r"}, {"— a new session", "/who\r"}, {"— user", "/quit\r"}}))
	if !strings.Contains(again, "> one\ncoder  first answer\n") || strings.Count(again, "/help") != 2 {
		t.Errorf("coming back shows\n%s", again)
	}
	out, _ := h.run(0, "chat", "list")
	if strings.Count(out, "s-") != 2 {
		t.Errorf("the chats are\n%s", out)
	}
}

// TestA7SessionCommands types what a session knows besides: a command of the
// person's own, one that is misspelt, a text that begins with a slash, another
// model, the calls of a turn in full, and a file of what was said.
func TestA7SessionCommands(t *testing.T) {
	t.Parallel()
	h := newHome(t, "tool_permissions = [\"bash\"]\n"+sessionHome+"[[models]]\nid = \"other\"\nprovider = \"scripted\"\nrules = \"other.toml\"\n")
	h.write("r.toml", "[[rule]]\nmatch = \"review cart\"\nround = 1\ntool_calls = [{name = \"bash\", args = {command = \"seq 41 52; exit 3\"}}]\n[[rule]]\nmatch = \"review cart\"\nround = 2\nreply = \"Nine lines.\"\n[[rule]]\nmatch = \"slash\"\nreply = \"A folder.\"\n")
	h.write("other.toml", "[[rule]]\nmatch = \"who\"\nreply = \"I am other.\"\n")
	h.write("commands/check.md", "Please review $ARGUMENTS now\n")
	t.Cleanup(func() { h.run(0, "down") })
	file := filepath.Join(t.TempDir(), "said.md")
	shown := seen(h.dialogue([][2]string{
		{"/help", "/chekc\r"}, {"did you mean /check?", "/check cart\r"}, {"Nine lines.", "/expand\r"}, {"exit status 3", "//etc is a slash\r"},
		{"A folder.", "/model nope\r"}, {"known are", "/model @coder other\r"}, {"from its next turn on", "who\r"}, {"I am other.", "/export " + file + "\r"},
		{"wrote ", "/export " + file + "\r"}, {"exists already", "/quit\r"},
	}))
	for _, want := range []string{"> Please review cart now\n", "         … 6 lines before\n         47\n", "> /etc is a slash\n", "/check"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
	said, err := os.ReadFile(file)
	if err != nil || strings.Count(string(said), "\n## ") < 4 || !strings.Contains(string(said), "\n@coder who\n") || !strings.Contains(string(said), "\nA folder.\n") {
		t.Errorf("the file has\n%s (%v)", said, err)
	}
}
