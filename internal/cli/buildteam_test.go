package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// built is a project of a kind, and how its files are written.
type built struct {
	tool  string            // that its tests need
	files map[string]string // of the empty project
	check string            // that fika finds
	write string            // a command that writes WHAT, which does OP from START, and its test, which gives SIX
}

var builds = map[string]built{
	"go": {"go", map[string]string{"go.mod": "module calc\n\ngo 1.24\n", "calc.go": "package calc\n"}, "go test ./...", `cat >WHAT.go <<'END'
package calc

ABOUTfunc WHAT(list ...int) int {
	r := START
	for _, n := range list {
		r = r OP n
	}
	return r
}
END
cat >WHAT_test.go <<'END'
package calc

import "testing"

func Test_WHAT(t *testing.T) {
	if got := WHAT(1, 2, 3); got != 6 {
		t.Errorf("WHAT is %d", got)
	}
}
END`},
	"npm": {"npm", map[string]string{"package.json": `{"name": "calc", "version": "1.0.0", "scripts": {"test": "node --test"}}`}, "npm test", `cat >WHAT.js <<'END'
ABOUTmodule.exports = (...list) => list.reduce((r, n) => r OP n, START);
END
cat >WHAT.test.js <<'END'
require("node:test")("WHAT", () => require("node:assert").equal(require("./WHAT")(1, 2, 3), 6));
END`},
}

// team plays all of a team, and knows nothing but what it receives. What builds the product
// leaves out what it is, and adds it once the reviewer has asked for that.
func (b built) team(r llmtest.Request) llmtest.Script {
	last := 0
	for i, m := range r.Messages {
		if m.Role == llm.User {
			last = i
		}
	}
	asked, called := r.Messages[last].Text, map[string]bool{}
	var all strings.Builder
	for i, m := range r.Messages {
		all.WriteString(m.Text + "\n")
		for _, c := range m.Calls {
			called[c.Name] = called[c.Name] || i > last
		}
	}
	call := func(name string, args any) llmtest.Script {
		text, _ := json.Marshal(args)
		return llmtest.Script{llmtest.Call(fmt.Sprintf("c%d", r.N), name, string(text))}
	}
	write := func(what string, documented bool) llmtest.Script {
		op, start, about := "+", "0", ""
		if what == "product" {
			op, start = "*", "1"
		}
		if documented {
			about = "// " + what + " gives the " + what + " of some numbers.\n"
		}
		return call("bash", map[string]string{"command": strings.NewReplacer("WHAT", what, "OP", op, "START", start, "ABOUT", about).Replace(b.write)})
	}
	what := ""
	if m := regexp.MustCompile(`of the board: (\w+)`).FindStringSubmatch(all.String()); m != nil {
		what = m[1]
	}
	switch {
	case strings.Contains(r.System, "You lead a team") && !called["board_add"]:
		type task struct {
			Title string `json:"title"`
			Body  string `json:"body"`
			Agent string `json:"agent"`
		}
		return call("board_add", map[string]any{"tasks": []task{{"sum", "the sum of some numbers, with a test", "builder"}, {"product", "their product, with a test", "builder"}}})
	case strings.Contains(r.System, "You lead a team"):
		return llmtest.Script{llmtest.Text("Two tasks for the builders.")}
	case strings.Contains(r.System, "You review what others offer") && regexp.MustCompile(`(?m)^\s*\+// `).MatchString(asked):
		return llmtest.Script{llmtest.Text(`{"ok": true, "notes": "Good as it is."}`)}
	case strings.Contains(r.System, "You review what others offer"):
		return llmtest.Script{llmtest.Text(`{"ok": false, "notes": "Say in a comment what it gives."}`)}
	case !called["bash"]:
		return write(what, what == "sum" || strings.Contains(asked, "Say in a comment"))
	case !called["offer"]:
		return call("offer", map[string]string{"summary": map[bool]string{false: "add " + what, true: "say what " + what + " gives"}[strings.Contains(asked, "Say in a comment")]})
	}
	return llmtest.Script{llmtest.Text(what + " is there, with a test.")}
}

// TestATeamBuildsAProject: after fika init --team build, one prompt in the session becomes
// tasks, which builders take at the same time, offer, have reviewed, once in two rounds, and
// land. The board shows it on a terminal, and the project's own tests pass on what has landed.
func TestATeamBuildsAProject(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	for kind, b := range builds {
		if _, err := exec.LookPath(b.tool); err != nil || kind == "go" && testing.Short() { // it builds the standard library for each check
			t.Logf("not for %s", kind)
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			srv := llmtest.NewOpenAI(t, b.team)
			h := newHome(t, "")
			home := t.TempDir()
			h.env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "KEY=" + llmtest.Secret}
			for path, text := range map[string]string{filepath.Join(home, ".fika/config.toml"): openAI(srv, ""), filepath.Join(home, ".gitconfig"): "[user]\nname = kim\nemail = kim@example.org\n"} {
				must(os.MkdirAll(filepath.Dir(path), 0o700))
				must(os.WriteFile(path, []byte(text), 0o600))
			}
			for name, text := range b.files {
				must(os.WriteFile(filepath.Join(h.work, name), []byte(text), 0o600))
			}
			git := func(args ...string) string {
				cmd := exec.Command("git", args...)
				cmd.Dir, cmd.Env = h.work, h.env
				out, err := cmd.CombinedOutput()
				must(err)
				return string(out)
			}
			git("init", "-q", "-b", "main")
			git("add", "-A")
			git("commit", "-q", "-m", "begin")
			_, told := h.run(0, "init", "--team", "build")
			has(t, "what is tested", told, "if "+b.check+" passes there")
			t.Cleanup(func() { h.run(0, "down") })

			shown := h.dialogue([][2]string{{"/help", "a sum and a product\r"}, {"Two tasks for the builders.", "/board\r"}, {"product", "/quit\r"}})
			has(t, "the call", shown, "board_add tasks: sum, product")
			board, _ := h.ended([]act{{"DONE 2", func(*terminal) string { return "\x03" }}}, "board", "--watch")
			has(t, "the board", board, "fika board at", "@builder-")
			offers, _ := h.run(0, "land", "list", "--json")
			if strings.Count(offers, `"state":"landed"`) != 2 || strings.Count(offers, `"round":1`) != 1 {
				t.Errorf("offers: %s", offers)
			}
			h.run(0, "land", "apply")
			log := git("log", "--format=%s")
			has(t, "what has landed", log, "add sum", "add product", "say what product gives")
			words := strings.Fields(b.check)
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Dir, cmd.Env = h.work, append(os.Environ(), "HOME="+home)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
