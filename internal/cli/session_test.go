package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/cli"
	"fika/internal/system/term"
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
		{"/help", "one\r"}, {"first answer\n", "@reviewer look\r"}, {"I looked.\n", "two\r"}, {"I looked.\n", "/agents\r"}, {"STATUS", "/skills\r"}, {"no skills", "/board\r"}, {"no open tasks", "/board x\r"}, {"takes the number of one", "/land\r"}, {"no offers", "/cost\r"},
		{"this session: ", "@coder hang\r"}, {"coder thinking 1", "\x03"}, {"cancelling what @coder does", "/help\r"}, {"begin another session", "/quit\r"},
	})
	for _, want := range []string{"\x1b[22;2t\x1b]2;fika s-", ": coder\x1b\\", "\x1b[23;2t"} {
		if !strings.Contains(written, want) {
			t.Errorf("the title of the window: %q was not written", want)
		}
	}
	shown := seen(written)
	for _, want := range []string{
		" · @coder s and 1 other · ", "▌ one\n\ncoder\n  first answer\n\n▌ @reviewer look\n\nreviewer\n  I looked.\n", "▌ two\n", "▌ @coder hang\n", "> /agents\n", "\nAGENT ", "> /cost\n— this session: ",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
	again := seen(h.dialogue([][2]string{{"▌ two\n", "/new\r"}, {"— a new session", "/who\r"}, {"— user", "/resume\r"}, {"@coder one", "/quit\r"}}))
	if !strings.Contains(again, "▌ one\n\ncoder\n  first answer\n") || strings.Count(again, "/help") != 2 {
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
	h.run(0, "up") // a hub that the session starts may have told of the first call before anybody listened
	t.Cleanup(func() { h.run(0, "down") })
	file := filepath.Join(t.TempDir(), "said.md")
	shown := seen(h.dialogue([][2]string{
		{"/help", "/chekc\r"}, {"did you mean /check?", "/check cart\r"}, {"Nine lines.\n", "/expand\r"}, {"exit status 3", "//etc is a slash\r"},
		{"A folder.\n", "/model nope\r"}, {"known are", "/model @coder other\r"}, {"from its next turn on", "who\r"}, {"I am other.\n", "/export " + file + "\r"},
		{"wrote ", "/export " + file + "\r"}, {"already;", "/quit\r"},
	}))
	for _, want := range []string{"▌ Please review cart now\n", "    … 6 lines before\n    47\n", "▌ /etc is a slash\n", "/check"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
	said, err := os.ReadFile(file)
	if err != nil || strings.Count(string(said), "\n## ") < 4 || !strings.Contains(string(said), "\n@coder who\n") || !strings.Contains(string(said), "\nA folder.\n") {
		t.Errorf("the file has\n%s (%v)", said, err)
	}
}

// TestSessionFiles names files in the line of a session: what is typed goes along,
// what is pasted is text, and a key is sent only if the person says so.
func TestSessionFiles(t *testing.T) {
	t.Parallel()
	h := newHome(t, sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"total := 1(?s:.*)see\"\nreply = \"Both.\"\n[[rule]]\nmatch = \"BEGIN KEY\"\nreply = \"A key!\"\n[[rule]]\nmatch = \"total := 1\"\nreply = \"I read it.\"\n[[rule]]\nmatch = \"literally @/etc/passwd\"\nreply = \"Words.\"\n")
	for name, text := range map[string]string{"cart.go": "total := 1\n\n@reviewer\n", ".ssh/id_ed25519": "BEGIN KEY\n", "sub/deep.txt": "see\n"} {
		path := filepath.Join(h.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.dialogue([][2]string{
		{"/help", "what is @cart.go?\r"}, {"I read it.\n", "\x1b[200~literally @/etc/passwd\x1b[201~ \r"}, {"Words.\n", "@ca\tand @dee\t\r"}, {"Both.\n", "use @~/.ssh/id_ed25519\r"},
		{"Enter the word send", "no\r"}, {"you did not say send", "use @~/.ssh/id_ed25519\r"}, {"send it? ", "send\r"}, {"A key!\n", "/quit\r"},
	}))
	for _, want := range []string{
		"▌ what is `cart.go`?\n▌\n▌ [file `cart.go`: 3 lines]\n\ncoder\n  I read it.\n", "▌ literally @/etc/passwd\n",
		"▌ `cart.go` and `sub/deep.txt`\n▌\n▌ [file `cart.go`: 3 lines]\n▌\n▌ [file `sub/deep.txt`: 1 line]\n", "coder\n  Both.\n", "[file `~/.ssh/id_ed25519`: 1 line]",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
	if strings.Count(shown, "A key!") != 1 || strings.Contains(shown, "reviewer\n") {
		t.Errorf("the key was sent unasked, or the file called somebody:\n%s", shown)
	}
	out, _ := h.run(0, "run", "--raw", "literally @/etc/passwd")
	has(t, "a prompt of the shell", out, "Words.")
}

// TestTeamLineInTheSession: a line that begins with a team is a run whose result is
// said in the session, a line that only looks like one is a message, and whoever
// comes back finds both.
func TestTeamLineInTheSession(t *testing.T) {
	t.Parallel()
	h := newHome(t, sessionHome)
	h.write("r.toml", "[[rule]]\nagent = \"coder\"\nmatch = \"which one\"\nreply = \"The first, @reviewer.\"\n[[rule]]\nagent = \"reviewer\"\nmatch = \"(?s)which one.*The first\"\nreply = \"It holds.\"\n[[rule]]\nmatch = \"hang\"\nstall = true\n[[rule]]\nmatch = \"b: one\"\nreply = \"a message\"\n")
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.dialogue([][2]string{
		{"/help", "@coder -> @reviewer: which one?\r"}, {"It holds.\n", "@coder → b: one\r"}, {"a message\n", "@coder, @reviewr: x\r"}, {"did you mean", "@coder, @reviewer: hang\r"},
		{"in the team", "/why\r"}, {"fika workflow status", "/stop\r"}, {"1 run of a team", "/quit\r"},
	}))
	for _, want := range []string{"▌ @coder -> @reviewer: which one?\n", "workflow\n  @reviewer:\n  It holds.\n", "coder\n  a message\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
	again := seen(h.dialogue([][2]string{{"/help", "/quit\r"}}))
	for _, want := range []string{"▌ @coder -> @reviewer: which one?\n", "It holds.", " is cancelled: the chat"} {
		if !strings.Contains(again, want) {
			t.Errorf("%q was not seen again in\n%s", want, again)
		}
	}
}

// TestSessionWithPoolAndBackup: the session says which member of a pool a message has
// gone to, that a backup has worked what a team was asked for, and who could be asked
// where a mention waits for an agent that is out.
func TestSessionWithPoolAndBackup(t *testing.T) {
	t.Parallel()
	h := newHome(t, strings.Replace(sessionHome, "id = \"coder\"\n", "id = \"coder\"\ninstances = 2\n", 1)+
		"[[agents]]\nid = \"tester\"\nmodel = \"nowhere\"\nbackup = [\"reviewer\"]\n[[models]]\nid = \"nowhere\"\nprovider = \"scripted\"\nrules = \"none.toml\"\n")
	h.write("r.toml", "[[rule]]\nmatch = \"(^| )one$\"\nreply = \"first answer of @coder\"\n[[rule]]\nmatch = \"two\"\nreply = \"second answer\"\n")
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.dialogue([][2]string{
		{"/help", "one\r"}, {"first answer", "@tester, @coder: two\r"}, {"for @tester:", "@tester three\r"}, {"asked", "/quit\r"},
	}))
	for _, want := range []string{
		" · @coder s and 2 others · ", "→ @coder-1 of @coder\n", "coder-1\n  first answer of @coder\n", "@reviewer for @tester:", " for @coder:", "@reviewer could be asked",
	} {
		// Where a line that names a file is broken depends on where the home is.
		if !strings.Contains(shown, want) && !strings.Contains(strings.Join(strings.Fields(shown), " "), want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
}

// TestSessionFollowsConfig changes the config under an open session: what cannot be
// read is said, and an agent that was added, or taken away, is so in the session.
func TestSessionFollowsConfig(t *testing.T) {
	t.Parallel()
	h := newHome(t, sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"one\"\nreply = \"A first answer.\"\n[[rule]]\nagent = \"newbie\"\nmatch = \"two|three\"\nreply = \"I am new.\"\n")
	t.Cleanup(func() { h.run(0, "down") })
	now := func(config, typed string) func(*terminal) string {
		return func(*terminal) string { h.write("config.toml", config); return typed }
	}
	models, _, _ := strings.Cut(sessionHome, "[[agents]]")
	shown := seen(h.scene([]act{
		{"/help", func(*terminal) string { return "one\r" }},
		{"A first answer.\n", now(sessionHome+"\nmodle =", "")},
		{"using the last valid settings", now(sessionHome+"[[agents]]\nid = \"newbie\"\n", "")},
		{"is valid again", func(*terminal) string { return "@newbie two\r" }},
		{"I am new.\n", now(models+"[[agents]]\nid = \"reviewer\"\n", "")},
		{"@newbie is not in the config any more: text without a name goes to @reviewer", func(*terminal) string { return "/quit\r" }},
	}))
	if !strings.Contains(shown, "newbie\n  I am new.\n") || strings.Contains(shown, "no agent") {
		t.Errorf("an agent that was added:\n%s", shown)
	}
}

// TestSessionProposes types lines without a name that are for another agent than the
// one spoken to last: it is proposed, and not again when it was declined.
func TestSessionProposes(t *testing.T) {
	t.Parallel()
	models, _, _ := strings.Cut(sessionHome, "[[agents]]")
	h := newHome(t, models+"[[agents]]\nid = \"coder\"\ndescription = \"Writes and changes code\"\n[[agents]]\nid = \"reviewer\"\ndescription = \"Reviews pull requests and finds mistakes in them\"\n")
	h.write("r.toml", "[[rule]]\nagent = \"reviewer\"\nmatch = \"(?s).*\"\nreply = \"Reviewed {{.Last}}.\"\n[[rule]]\nagent = \"coder\"\nmatch = \"(?s).*\"\nreply = \"Coded {{.Last}}.\"\n")
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.dialogue([][2]string{
		{"/help", "please review my pull request one\r"}, {"Use @reviewer? [Y/n]", "\r"}, {"Reviewed @reviewer please review my pull request one.\n", "implement a parser, refactor the code of two\r"},
		{"Use @coder? [Y/n]", "n\r"}, {"Reviewed @reviewer implement a parser, refactor the code of two.\n", "implement a parser, refactor the code of three\r"},
		{"Reviewed @reviewer implement a parser, refactor the code of three.\n", "/quit\r"},
	}))
	if strings.Contains(shown, "Coded") || !strings.Contains(shown, "@coder is not proposed again here") {
		t.Errorf("%s", shown)
	}
}

// typed is an act that only types.
func typed(text string) func(*terminal) string { return func(*terminal) string { return text } }

// TestRenamedWhileJoined: whoever has joined a chat stays in it when it gets another
// name, is told, and sees what is said there and done there from then on.
func TestRenamedWhileJoined(t *testing.T) {
	t.Parallel()
	h := newHome(t, sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"one\"\nreply = \"the first answer\"\n[[rule]]\nmatch = \"hang\"\nreply = \"I hang on.\"\nstall = true\n")
	t.Cleanup(func() { h.run(0, "down") })
	h.run(0, "chat", "create", "design")
	h.run(0, "up")
	shown := seen(h.scene([]act{
		{"design> ", func(*terminal) string { h.run(0, "chat", "rename", "design", "sketch"); return "" }},
		{"user renamed this chat from design to sketch", typed("")},
		{"sketch> ", typed("@coder one\r")},
		{"the first answer\n", typed("@coder hang\r")},
		{"I hang on.", typed("/stop\r")}, // told on the bus under the name the chat has now
		{"1 running turn cancelled", typed("/quit\r")},
	}, "chat", "join", "design"))
	if _, after, _ := strings.Cut(shown, "sketch> "); strings.Contains(after, "design> ") {
		t.Errorf("the old name is shown in\n%s", shown)
	}
}

// TestBareInAnUntrustedProject: fika alone, where all agents are a project's that its
// person does not want to trust, ends and says what there is to do.
func TestBareInAnUntrustedProject(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".fika", "agents"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".fika", "agents", "coder.md"), []byte("---\nname: coder\n---\nYou code.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var out, errs term.Buffer
	s := &term.Streams{In: strings.NewReader("n\nanother line\n.\n"), Out: &out, Err: &errs, InTTY: true, OutTTY: true, ErrTTY: true}
	status := cli.Main(nil, s, func(name string) string { return map[string]string{"HOME": home}[name] })
	has(t, "after a no", errs.String(), "trust and use these files? [y/N]", "has no agents here; review it with fika trust")
	if status != 130 || strings.Contains(errs.String(), "type your prompt") || out.String() != "" {
		t.Errorf("status %d, stdout %q, stderr\n%s", status, out.String(), errs.String())
	}
}

// TestInterruptedQuestion: one ctrl-C leaves a prompt that is being typed, and a
// question; nothing is done, and what was typed is kept.
func TestInterruptedQuestion(t *testing.T) {
	t.Parallel()
	h := newHome(t, "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n")
	h.write("r.toml", "fallback = \"ok\"")
	h.run(0, "chat", "create", "design")
	for _, c := range []struct {
		args []string
		acts []act
		said string
	}{
		{[]string{"run"}, []act{{"type your prompt", typed("half of it\r")}, {"half of it\r\n", func(x *terminal) string { x.read(); return "\x03" }}}, "nothing was asked"},
		{[]string{"chat", "delete", "design"}, []act{{"[y/N]", typed("\x03")}}, "nothing was done"},
		{[]string{"key", "set", "SOME_KEY"}, []act{{"is not shown", typed("sk-\x03")}}, "no key was stored"},
	} {
		shown, err := h.ended(c.acts, c.args...)
		has(t, strings.Join(c.args, " "), shown, c.said)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Errorf("fika %v: %v", c.args, err)
		}
	}
	kept, _ := filepath.Glob(filepath.Join(h.dir, "run", "typed-*.txt"))
	if len(kept) != 1 {
		t.Fatalf("what was typed is kept in %q", kept)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || !strings.HasPrefix(string(text), "half of it") {
		t.Errorf("kept %q, %v", text, err)
	}
	h.run(0, "chat", "view", "design")
}
