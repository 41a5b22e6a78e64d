package approval_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/tool"
	"fika/internal/turn/approval"
)

func judgeOf(t *testing.T, folder, command string) guard.Bound {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	j := approval.Judge{Default: guard.Ask}
	return j.Judge(tool.Call{Name: "bash", Args: args, Workspace: folder}).Bound
}

// TestBoundToWhatRuns: an answer does not hold when what a command runs has changed, came
// to be or went, however many other files the command names.
func TestBoundToWhatRuns(t *testing.T) {
	many := "ls"
	for i := range 200 {
		many += " f" + strconv.Itoa(i)
	}
	for _, c := range [][2]string{
		{"sh ./s.sh", "./s.sh"}, {"bash -x ./s.sh a", "./s.sh"}, {"./s.sh", "./s.sh"}, {"timeout 5 python3 s.py", "s.py"}, {many + "; sh s.sh", "s.sh"},
		{"make", "Makefile"}, {"nice make -j2 x", "makefile"}, {"npm test | tee log", "package.json"}, {"just x", "justfile"}, {"cargo test", "build.rs"},
		{"cat notes", "notes"}, {"sort < in", "in"},
	} {
		folder := t.TempDir()
		for i := range 200 {
			write(t, folder, "f"+strconv.Itoa(i), "x")
		}
		write(t, folder, c[1], "one")
		before := judgeOf(t, folder, c[0])
		if same := judgeOf(t, folder, c[0]).Differences(before); same != nil {
			t.Errorf("%s: %q have changed though nothing has", c[0], same)
		}
		write(t, folder, c[1], "two")
		if changed := judgeOf(t, folder, c[0]).Differences(before); !slices.Contains(changed, c[1]) {
			t.Errorf("%s: %s has changed, but only %q are said to", c[0], c[1], changed)
		}
		if err := os.Remove(filepath.Join(folder, c[1])); err != nil {
			t.Fatal(err)
		}
		if changed := judgeOf(t, folder, c[0]).Differences(before); !slices.Contains(changed, c[1]) {
			t.Errorf("%s: %s is gone, but only %q are said to have changed", c[0], c[1], changed)
		}
	}
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestQuestionSaysWhatIsNotBound: a question says of what an answer cannot be bound to,
// and nothing where the words say all.
func TestQuestionSaysWhatIsNotBound(t *testing.T) {
	for command, want := range map[string]string{
		"git push": "", "ls -l": "", "make build": "not to what make runs", "sh ./s.sh": "not to what ./s.sh runs", "python3 x.py": "not to what x.py runs",
		"npm run x": "not to what npm runs", "cat x | sh": "cannot be told", "cd sub && make": "cannot be told", "python3 -c 'print(1)'": "cannot be told",
	} {
		args, _ := json.Marshal(map[string]string{"command": command})
		v := approval.Judge{Default: guard.Ask}.Judge(tool.Call{Name: "bash", Args: args, Workspace: t.TempDir()})
		if want == "" && strings.Contains(v.Rule, "answer") || !strings.Contains(v.Rule, want) {
			t.Errorf("%s: %q", command, v.Rule)
		}
	}
}

// TestModes: what asks in which mode, with and without a sandbox; rules come before that,
// but not in plan mode.
func TestModes(t *testing.T) {
	const allow, ask, deny = guard.Allow, guard.Ask, guard.Deny
	rules := []guard.Rule{{Tool: "bash", Match: "go test *", Do: allow, Where: "x:1"}, {Tool: "edit", Path: "secret", Do: deny, Where: "x:2"}}
	bash := func(text string) tool.Call {
		return tool.Call{Name: "bash", Args: []byte(`{"command":"` + text + `"}`)}
	}
	edit := func(path string) tool.Call { return tool.Call{Name: "edit", Args: []byte(`{"path":"` + path + `"}`)} }
	for _, c := range []struct {
		call                         tool.Call
		plan, ask, edit, auto, unset guard.Action
	}{
		{tool.Call{Name: "read", Args: []byte(`{"path":"a"}`)}, allow, allow, allow, allow, allow},
		{edit("a"), deny, ask, allow, allow, allow},
		{edit("secret"), deny, deny, deny, deny, deny},
		{tool.Call{Name: "create", Args: []byte(`{"path":"a"}`)}, deny, ask, allow, allow, allow},
		{bash("make"), deny, ask, ask, allow, allow},
		{bash("go test ./..."), deny, allow, allow, allow, allow},
		{tool.Call{Name: "plugin", Args: []byte(`{}`)}, deny, ask, ask, allow, allow},
		{tool.Call{Name: "post__letter", Args: []byte(`{}`)}, deny, ask, ask, allow, allow},
		{tool.Call{Name: "send_message", Args: []byte(`{}`)}, deny, allow, allow, allow, allow},
	} {
		for mode, want := range map[fika.Mode]guard.Action{fika.PlanMode: c.plan, fika.AskMode: c.ask, fika.EditMode: c.edit, fika.AutoMode: c.auto, "": c.unset} {
			for name, confined := range map[string]bool{"off": false, "none": false, "sandbox": true} {
				j := approval.Judge{
					Rules: rules, Starts: func(name string) bool { return name == "bash" || name == "plugin" || name == "post__letter" },
					Off: name == "off", Unconfined: func() bool { return !confined },
				}
				want := want
				if mode == fika.AutoMode && !confined {
					want = c.edit
				}
				if mode == "" && name == "none" && want == allow {
					want = c.edit // as before there were modes
				}
				c.call.Mode, c.call.Workspace = mode, "/w"
				if v := j.Judge(c.call); v.Do != want {
					t.Errorf("%s %s in mode %q, %s: %s, want %s (%s)", c.call.Name, c.call.Args, mode, name, v.Do, want, v.Rule)
				}
			}
		}
	}
}

// TestAFileThatARedirectionWrites: a rule that allows the words of a command says nothing of
// the file that its output goes to.
func TestAFileThatARedirectionWrites(t *testing.T) {
	rules := []guard.Rule{{Tool: "bash", Match: "go test *", Do: guard.Allow, Where: "x:1"}, {Tool: "bash", Path: "logs/**", Do: guard.Allow, Where: "x:2"}}
	for _, c := range []struct {
		mode      fika.Mode
		confined  bool
		otherwise guard.Action
		want      guard.Action
	}{
		{fika.AskMode, true, "", guard.Ask},
		{fika.EditMode, true, "", guard.Allow}, // where files may be changed
		{fika.EditMode, false, "", guard.Ask},
		{fika.AutoMode, true, "", guard.Allow},
		{fika.AutoMode, false, "", guard.Ask},
		{fika.AutoMode, true, guard.Ask, guard.Ask},
		{fika.EditMode, true, guard.Ask, guard.Ask},
		{fika.AutoMode, true, guard.Deny, guard.Deny},
	} {
		j := approval.Judge{Rules: rules, Default: c.otherwise, Starts: func(name string) bool { return name == "bash" }, Unconfined: func() bool { return !c.confined }}
		for command, want := range map[string]guard.Action{
			"go test ./... > out": c.want, "go test ./... >> out": c.want, "go test ./... &> $OUT": c.want,
			"go test ./... > logs/out": guard.Allow, "go test ./... > /dev/null 2>&1": guard.Allow, "go test ./... < in": guard.Allow,
		} {
			v := j.Judge(tool.Call{Name: "bash", Args: []byte(`{"command":"` + command + `"}`), Mode: c.mode, Workspace: "/w"})
			if v.Do != want {
				t.Errorf("%s in %s mode, confined %v, default %q: %s, want %s (%s)", command, c.mode, c.confined, c.otherwise, v.Do, want, v.What)
			}
			if v.Do == guard.Ask && command == "go test ./... > out" && (v.What != "> out" || !strings.Contains(v.Hint, `path = "out"`) || strings.Contains(v.Hint, "match")) {
				t.Errorf("it asks about %q, and %q would spare the question", v.What, v.Hint)
			}
		}
	}
}
