package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// askingHome has an agent that does what it is told, and a rule that asks about
// one command.
const askingHome = `model = "s"
tool_permissions = ["bash"]
[guard]
sandbox = "off"
[[models]]
id = "s"
provider = "scripted"
rules = "r.toml"
[[rules]]
tool = "bash"
match = "date *"
do = "ask"
why = "look first"
[[agents]]
id = "coder"
`

const obeyingModel = "[[rule]]\nmatch = '(?s)sh (?P<cmd>.*)$'\ntool_calls = [{name = \"bash\", args = {command = \"{{.Group.cmd}}\"}}]\n[[rule]]\nafter_tool = \"bash\"\nreply = \"I did: {{.Result}}\"\n"

func newAskingHome(t *testing.T) *home {
	h := newHome(t, askingHome)
	h.write("r.toml", obeyingModel)
	return h
}

// TestApproveInMaster: a question that comes while something else is typed takes
// none of it; a number whose question was not shown answers nothing; the answer
// that another command gives is shown, and is the only one.
func TestApproveInMaster(t *testing.T) {
	t.Parallel()
	h := newAskingHome(t)
	t.Cleanup(func() { h.run(0, "down") })
	ran := filepath.Join(t.TempDir(), "ran")
	typed := func(s string) func(*terminal) string { return func(*terminal) string { return s } }
	shown := seen(h.scene([]act{
		{"Ready for commands", typed("@coder:task: sh date > " + ran + "\r")},
		{"Sent task", typed("yes 1")},
		{"/approve 1 --deny WHY", typed("\r")},
		{"no agent given", func(*terminal) string {
			if exists(ran) {
				t.Error("keys that were being typed have approved the call")
			}
			return "/approve 7\r"
		}},
		{"approval 7 not found", typed("/approve 1 perhaps\r")},
		{"--always", typed("/approve 1\r")},
		{"I did: ", typed("@coder:task: sh date >> " + ran + "\r")},
		{"/approve 2 --deny WHY", func(*terminal) string {
			h.run(0, "approve", "2", "--deny", "not on a Friday")
			return ""
		}},
		{"2 was denied by user: not on a Friday", typed("/approve 2\r")},
		{"denied by user: not on a Friday already", typed("/quit\r")},
	}, "master"))
	data, err := os.ReadFile(ran)
	if err != nil || strings.Count(string(data), "\n") != 1 {
		t.Errorf("it ran %d times (%v)\n%s", strings.Count(string(data), "\n"), err, shown)
	}
}

// TestApproveAtTheTerminal: fika run asks the person who is there; neither keys
// that were being typed when the question came answer it, nor anything but yes
// or no, and the time it takes is not the turn's.
func TestApproveAtTheTerminal(t *testing.T) {
	t.Parallel()
	h := newAskingHome(t)
	h.write("contexts/default/local.toml", "turn_timeout_seconds = 4\n")
	late := make(<-chan time.Time)
	ran := filepath.Join(t.TempDir(), "ran")
	typed := func(s string) func(*terminal) string {
		return func(*terminal) string {
			if exists(ran) {
				t.Errorf("before %q was typed the call was approved", s)
			}
			return s
		}
	}
	shown := h.scene([]act{
		{"", typed("yes\nyes\nyes 1\n")},
		{"look first", func(*terminal) string { late = time.After(4 * time.Second); return "" }},
		{"type yes or no: ", typed("yes 1\n")},
		{"yes 1\r\nallow this call once? type yes or no: ", func(*terminal) string { <-late; return typed("yes\n")(nil) }},
		{"I did: ", func(*terminal) string { return "" }},
	}, "run", "sh date > "+ran)
	if !exists(ran) {
		t.Errorf("it did not run\n%s", shown)
	}
	shown = h.scene([]act{{"type yes or no: ", func(*terminal) string { return "no\n" }}}, "run", "sh date >> "+ran)
	has(t, "after a no", shown, "denied by the person: denied at the terminal")
}

// TestApproveInSession: the same in a session and in a chat that somebody has
// joined, where only its own questions are shown: one key answers, a refusal has its
// reason, and calls like one are allowed from then on (trial row U10).
func TestApproveInSession(t *testing.T) {
	t.Parallel()
	h := newAskingHome(t)
	t.Cleanup(func() { h.run(0, "down") })
	ran := filepath.Join(t.TempDir(), "ran")
	h.dialogue([][2]string{
		{"/help", "sh date > " + ran + "\r"}, {"a key above answers", "N"}, {"no, because: ", "no, later\r"}, {"you refused @coder: bash date", ""},
		{"I did: denied by user: no, later", "/quit\r"},
	})
	if exists(ran) {
		t.Error("it ran after a no")
	}
	h.run(0, "chat", "create", "design")
	h.run(0, "task", "coder", "--no-wait", "sh date >> "+ran)
	eventually(func() bool { out, _ := h.run(0, "approve"); return strings.Contains(out, "2  @coder") }) // asked about elsewhere
	shown := h.scene([]act{
		{"design> ", typed("@coder sh date > " + ran + "\r")},
		{"a key above answers", typed("y")},
		{"you allowed @coder: bash date", typed("")},
		{"I did: ", typed("@coder sh date > " + ran + "\r")},
		{"a key above answers", func(*terminal) string { h.run(0, "approve", "4", "--deny", "not on a Friday"); return "" }},
		{"4 was denied by user: not on a Friday", typed("@coder sh date -u > " + ran + "\r")},
		{"a always bash date -u", typed("")}, // the question before may be drawn once more
		{"a key above answers", typed("a")},
		{"from now on allowed: bash date -u", typed("/quit\r")},
	}, "chat", "join", "design")
	if strings.Contains(shown, "date >>") || !exists(ran) {
		t.Errorf("joining shows\n%s", shown)
	}
	out, _ := h.run(0, "rules", "test", "coder", "date -u")
	has(t, "the rule", out, "allow")
}

// TestChooseInSession: the steps of a run ask a person in the session for a choice, which
// one key gives, and for a text, which is typed; both are in the result.
func TestChooseInSession(t *testing.T) {
	t.Parallel()
	h := newAskingHome(t)
	t.Cleanup(func() { h.run(0, "down") })
	h.write("r.toml", "[[rule]]\nmatch = 'say (.*)'\nreply = '{{index .Match 1}}'\n")
	h.write("workflows/pick.toml", "[[steps]]\nid='colour'\nchoice=['Dark blue', 'red']\nprompt='which colour?'\n[[steps]]\nid='note'\nneeds=['colour']\nanswer='text'\nprompt='why {{.steps.colour.output}}?'\n[[steps]]\nid='tell'\nneeds=['note']\nagent='coder'\nprompt='say {{.steps.colour.output}}, because {{.steps.note.output}}'\n")
	id, _ := h.run(0, "workflow", "run", "pick", "--no-wait")
	h.dialogue([][2]string{
		{"which colour?", "x"}, {"a key above answers", "1"}, {"you answered step colour", ""},
		{"why Dark blue?", "z"}, {"your line is kept: xz", "y"}, {"answer: ", "it calms\r"}, {"you answered step note", "\x15/quit\r"},
	})
	out, _ := h.run(0, "workflow", "wait", strings.TrimSpace(id))
	has(t, "the result", out, "Dark blue, because it calms")
	id, _ = h.run(0, "workflow", "run", "pick", "--no-wait")
	typed := func(s string) func(*terminal) string { return func(*terminal) string { return s } }
	h.scene([]act{
		{"/approve 3 ANSWER", typed("/approve 3 green\r")},
		{"cannot be chosen: step colour asks for one of Dark blue, red", typed("/approve 3 red\r")},
		{"/approve 4 ANSWER", typed("/approve 4 it is warm\r")},
		{"4 was answered by user: it is warm", typed("/quit\r")},
	}, "master")
	out, _ = h.run(0, "workflow", "wait", strings.TrimSpace(id))
	has(t, "the result", out, "red, because it is warm")
}
