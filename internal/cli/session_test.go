package cli_test

import (
	"strings"
	"testing"
)

// TestA7Session opens fika alone at a terminal: text without a name goes to the
// agent spoken to last, commands say how things stand, ctrl-c cancels what runs,
// and whoever comes back finds what was said.
func TestA7Session(t *testing.T) {
	t.Parallel()
	h := newHome(t, "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n[[agents]]\nid = \"coder\"\n[[agents]]\nid = \"reviewer\"\n")
	h.write("r.toml", "[[rule]]\nmatch = \"^one$\"\nreply = \"**first** answer\"\n[[rule]]\nmatch = \"hang\"\nstall = true\n[[rule]]\nagent = \"reviewer\"\nmatch = \"look|two\"\nreply = \"I looked.\"\n[[rule]]\nmatch = \"one\"\nreply = \"**first** answer\"\n")
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.dialogue([][2]string{
		{"/help", "one\r"}, {"#2", "@reviewer look\r"}, {"#4", "two\r"}, {"#6", "/agents\r"}, {"STATUS", "/cost\r"},
		{"since this session", "@coder hang\r"}, {"coder thinking 1s", "\x03"}, {"cancelling what @coder does", "/help\r"}, {"begin another session", "/quit\r"},
	}))
	for _, want := range []string{
		"@coder one\n", "first answer\n#2\n", "@reviewer look\n", "I looked.\n#4\n", "@reviewer two\n", "I looked.\n#6\n", "@coder hang\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
	again := seen(h.dialogue([][2]string{{"@reviewer two", "/new\r"}, {"new session", "/quit\r"}}))
	if !strings.Contains(again, "first answer\n") || strings.Count(again, "/help") != 2 {
		t.Errorf("coming back shows\n%s", again)
	}
	out, _ := h.run(0, "chat", "list")
	if strings.Count(out, "s-") != 2 {
		t.Errorf("the chats are\n%s", out)
	}
}
