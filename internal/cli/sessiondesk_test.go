package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSessionInterrupts: what an agent has said until Esc stays in view, with who
// interrupted it; somebody who comes in the middle of an answer sees it from its
// beginning.
func TestSessionInterrupts(t *testing.T) {
	t.Parallel()
	h := newHome(t, sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"one\"\nreply = \"I begin with the parser.\"\nstall = true\n[[rule]]\nmatch = \"two\"\nreply = \"The second.\"\n")
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	var late string
	shown := seen(h.scene([]act{
		{"/help", typed("one\r")},
		{"I begin with the parser.", func(*terminal) string {
			late = seen(h.dialogue([][2]string{{"I begin with the parser.", "/quit\r"}}))
			return "\x1b"
		}},
		{"was interrupted by you", typed("two\r")},
		{"The second.\n", typed("/quit\r")},
	}))
	if !strings.Contains(late, "I begin with the parser.") {
		t.Errorf("a second terminal sees\n%s", late)
	}
	if !strings.Contains(shown, "coder\n  I begin with the parser.\n") {
		t.Errorf("the partial answer is not kept in\n%s", shown)
	}
	out, _ := h.run(0, "chat", "view", sessionName(t, h))
	has(t, "the view", out, "I begin with the parser.", "interrupted by", "The second.")
}

// TestSessionQueues: what is typed while a tool runs waits above the line, where it can
// be taken back, and is read by the next model call of the same turn.
func TestSessionQueues(t *testing.T) {
	t.Parallel()
	h := newHome(t, "tool_permissions = [\"bash\"]\n"+sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"build\"\nround = 1\ntool_calls = [{name = \"bash\", args = {command = \"until [ -e go ]; do sleep 0.05; done\"}}]\n"+
		"[[rule]]\nmatch = \"and docs\"\nreply = \"Built, with docs.\"\n[[rule]]\nround = 2\nreply = \"Built alone.\"\n")
	folder := coderWorkspace(t, h)
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.scene([]act{
		{"/help", typed("build\r")},
		{"coder bash", typed("and docs\r")},
		{"and docs\"  after this tool call of coder", typed("and tests\r")},
		{"and tests\"", typed("\x1b[A")},
		{"> and tests", typed("\x15/queue\r")},
		{"/queue", func(*terminal) string {
			if err := os.WriteFile(filepath.Join(folder, "go"), nil, 0o600); err != nil {
				t.Error(err)
			}
			return ""
		}},
		{"Built, with docs.\n", typed("/quit\r")},
	}))
	if strings.Contains(shown, "▌ and tests") || !strings.Contains(shown, "▌ and docs") {
		t.Errorf("what was taken back was said, or what waited was not:\n%s", shown)
	}
}

// TestSessionModes: Shift-Tab changes what agents do without asking; in ask mode an edit
// is shown as a diff that one key allows, and ctrl-c ends a turn whose call waits.
func TestSessionModes(t *testing.T) {
	t.Parallel()
	h := newHome(t, "tool_permissions = [\"create\", \"edit\"]\n"+sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"change\"\nround = 1\ntool_calls = [{name = \"edit\", args = {path = \"cart.go\", old = \"total := 1\", new = \"total := 2\"}}]\n[[rule]]\nround = 2\nreply = \"It is {{first 30 .Result}}.\"\n")
	file := filepath.Join(coderWorkspace(t, h), "cart.go")
	if err := os.WriteFile(file, []byte("total := 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.dialogue([][2]string{
		{"/help", "/mode ask\r"}, {"you are asked before", "change it\r"}, {"a key above answers", "\x03"}, {"cancelled what @coder asks you about", ""},
		{"was interrupted by you", ""}, {"is no longer asked", "change it once more\r"}, {"a key above answers", "y"}, {"It is ", "/mode plan\r"}, {"plan mode", "/undo\r"}, {"undone", "/quit\r"},
	}))
	for _, want := range []string{"- total := 1", "you allowed @coder", "restored cart.go"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not seen in\n%s", want, shown)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "total := 1\n" {
		t.Errorf("after /undo the file is %q, %v", text, err)
	}
}

// TestDemo: the demo kills its hub and an agent in the middle of an answer, in front of the
// person, goes on, and has each answer once.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes six seconds")
	}
	t.Parallel()
	h := newHome(t, "")
	out, errs := h.run(0, "demo")
	has(t, "what is said", out, "so a repeat changes nothing", "Agreed by arya and gendry")
	has(t, "what is done", errs, "kill -9 of the hub and of arya, in the middle of that answer", "the hub is up again", "5 answers by three agents")
	if strings.Count(out, "so a repeat changes nothing") != 1 {
		t.Errorf("the interrupted answer is not there once:\n%s", out)
	}
}

// TestDemoIntoAClosedPipe: the hub of a demo whose reader leaves is stopped, and its folder
// removed.
func TestDemoIntoAClosedPipe(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes two seconds")
	}
	t.Parallel()
	h := newHome(t, "")
	temp := t.TempDir()
	cmd := exec.Command("sh", "-c", "fika demo | head -1")
	cmd.Dir, cmd.Env = h.work, append(h.env, "TMPDIR="+temp)
	out, err := cmd.CombinedOutput()
	left, _ := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("%v; %d files are left\n%s", err, len(left), out)
	}
}

// TestDemoBeginsHere: compiling says what it does, and the demo ends in the way in that fika
// alone has (trial row U15).
func TestDemoBeginsHere(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes six seconds")
	}
	t.Parallel()
	script, err := os.ReadFile("../../scripts/build.sh")
	if err != nil || !strings.Contains(string(script), "build -v ") {
		t.Errorf("make demo compiles without a word: %v", err)
	}
	h := newPerson(t)
	h.isolated("alone")
	shown := seen(h.dialogue([][2]string{{"begin here, in", "y\r"}, {"set up which team?", "review\r"}, {"to look around without:", "\r"}, {"/help", "/quit\r"}}, "demo"))
	has(t, "the demo", shown, "the hub is up again", "made .fika/")
}

// TestSessionHeader: the first line says where one is, who answers with which model, and what
// commands reach (trial row U24).
func TestSessionHeader(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	h := newHome(t, sessionHome)
	h.work = filepath.Join(t.TempDir(), "shop")
	if out, err := exec.Command("git", "init", "-q", "-b", "trunk", h.work).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(h.work, "new.go"), []byte("package shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.dialogue([][2]string{{"/help", "/quit\r"}}))
	has(t, "the header", shown, "shop · trunk ✎1 · @coder s and 1 other · sandbox: files here, no network")
}

// coderWorkspace makes the folder in which the agent coder works.
func coderWorkspace(t *testing.T, h *home) string {
	t.Helper()
	folder := filepath.Join(h.dir, "contexts", "coder", "workspace")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// sessionName returns the name of the only session of a home.
func sessionName(t *testing.T, h *home) string {
	t.Helper()
	out, _ := h.run(0, "chat", "list")
	for _, word := range strings.Fields(out) {
		if strings.HasPrefix(word, "s-") {
			return word
		}
	}
	t.Fatalf("no session in\n%s", out)
	return ""
}

// TestSessionPlans: shift-tab sets the mode while a turn runs, and the next call is held to
// it; enter accepts the plan, which is then carried out.
func TestSessionPlans(t *testing.T) {
	t.Parallel()
	h := newHome(t, "tool_permissions = [\"bash\", \"create\"]\n"+sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"carry it out\"\nround = 1\ntool_calls = [{name = \"create\", args = {path = \"made.txt\", content = \"made\"}}]\n"+
		"[[rule]]\nmatch = \"build\"\nround = 1\ntool_calls = [{name = \"bash\", args = {command = \"until [ -e go ]; do sleep 0.05; done\"}}]\n"+
		"[[rule]]\nmatch = \"build\"\nround = 2\ntool_calls = [{name = \"create\", args = {path = \"early.txt\", content = \"early\"}}]\n"+
		"[[rule]]\nmatch = \"build\"\nround = 3\nreply = \"I have looked.\\n\\n## Plan\\n\\n1. make made.txt\"\n"+
		"[[rule]]\nround = 2\nreply = \"Carried out.\"\n")
	folder := coderWorkspace(t, h)
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	shown := seen(h.scene([]act{
		{"/help", typed("build\r")},
		{"coder bash", typed("\x1b[Z")},
		{"plan mode", func(*terminal) string {
			if err := os.WriteFile(filepath.Join(folder, "go"), nil, 0o600); err != nil {
				t.Error(err)
			}
			return ""
		}},
		{"coder has a plan", typed("")},
		{"a key above answers", typed("\r")},
		{"Carried out.\n", typed("/quit\r")},
	}))
	has(t, "the session", shown, "✗ create early.txt not allowed\n    create (plan mode: nothing is changed", "1. make made.txt", "the plan is accepted")
	if exists(filepath.Join(folder, "early.txt")) || !exists(filepath.Join(folder, "made.txt")) {
		t.Error("the call after the key ran, or the plan was not carried out")
	}
}

// TestUndoUnderAWaitingQuestion: what a turn has changed that waits for the person is not
// undone before it is over, and what ends it is named as a session knows it.
func TestUndoUnderAWaitingQuestion(t *testing.T) {
	t.Parallel()
	h := newHome(t, "tool_permissions = [\"create\"]\n"+sessionHome)
	h.write("r.toml", "[[rule]]\nmatch = \"make\"\nround = 1\ntool_calls = [{name = \"create\", args = {path = \"a.txt\", content = \"a\\n\"}}]\n"+
		"[[rule]]\nmatch = \"make\"\nround = 2\ntool_calls = [{name = \"create\", args = {path = \"b.txt\", content = \"b\\n\"}}]\n")
	made := filepath.Join(coderWorkspace(t, h), "a.txt")
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	h.dialogue([][2]string{
		{"/help", "/mode ask\r"}, {"you are asked before", "make it\r"}, {"a key above answers", "y"}, {"you allowed @coder", ""}, {"b.txt", "/undo\r"},
		{"wait for it, or /stop", "/stop\r"}, {"1 running turn cancelled", "/undo\r"}, {"a.txt\n", "/quit\r"},
	})
	if exists(made) {
		t.Error("the file is still there")
	}
}
