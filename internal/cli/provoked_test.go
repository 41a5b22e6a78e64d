package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fika/internal/cli"
)

// provoked are mistakes of a person, with the status and what is printed. The command of
// a hint is run as it is printed.
var provoked = []struct {
	args   string
	status int
	text   string // of the first line
	hint   string
}{
	{"agent show nope", 3, `agent "nope" not found`, "fika agent list"},
	{"agent stop nope", 3, `agent "nope" not found`, "fika agent list"},
	{"agent health nope", 3, `agent nope not found`, "fika agent list"},
	{"ask nope hello", 3, `agent "nope" not found`, "fika agent list"},
	{"task nope hello", 3, `agent "nope" not found`, ""},
	{"rules test nope ls", 3, `agent "nope" not found`, "fika agent list"},
	{"config show -c nope", 3, `agent "nope" not found`, "fika agent list"},
	{"chat view nope", 3, `chat "nope" not found`, "fika chat list"},
	{"chat pause nope", 3, `chat "nope" not found`, "fika chat list"},
	{"chat delete nope --yes", 3, `chat "nope" not found`, "fika chat list"},
	{"context show nope", 3, `context "nope" not found`, "fika context list"},
	{"context switch nope", 3, `context "nope" not found`, ""},
	{"schedule show nope", 3, `schedule "nope" not found`, "fika schedule list"},
	{"schedule delete nope", 3, `schedule "nope" not found`, "fika schedule list"},
	{"workflow run nope", 3, `workflow "nope" not found`, "fika workflow list"},
	{"workflow check nope", 3, `workflow "nope" not found`, "fika workflow list"},
	{"workflow status nope", 3, `run "nope" not found`, "fika workflow list --runs"},
	{"template show nope", 3, `template "nope" not found`, "fika agent template list"},
	{"skill show nope", 3, `skill "nope" not found`, "fika skill list"},
	{"plugin show nope", 3, `plugin "nope" not found`, "fika plugin list"},
	{"plugin install nope", 3, `plugin "nope" not found`, "fika plugin list"},
	{"project show nope", 3, `project "nope" not found`, "fika project list"},
	{"job show 7", 3, "job 7 not found", "fika agent job list"},
	{"approve 9", 3, "approval 9 not found", "fika approve"},
	{"bus remove nope", 3, `member "nope" not found`, "fika bus list"},
	{"key show NOPE", 3, `key "NOPE" not found`, "fika key list"},
	{"budget show nope", 3, `budget of "nope" not found`, "fika budget list"},
	{"ask nope --timeout 2s hello", 3, `agent "nope" not found`, "fika agent list"},
	{"ask coder", 2, "the prompt is missing", ""},
	{"ask --modl m coder hi", 2, "did you mean --model?", ""},
	{"run --resume", 2, "fika has no --resume: fika opens the last session", ""},
	{"run --allowedTools Read hi", 2, "tool_permissions of an agent names its tools", ""},
	{"ask coder --timeout -1s hello", 2, "--timeout", ""},
	{"agent start nope", 3, `agent "nope" not found`, "fika agent list"},
	{"agent restart nope", 3, `agent "nope" not found`, "fika agent list"},
	{"agent create x --template nope", 3, `template "nope" not found`, "fika agent template list"},
	{"agent create coder", 1, "already exists", ""},
	{"agent delete coder --yes", 1, "delete it there", ""},
	{"agent diff nope", 3, `agent "nope" not found`, "fika agent list"},
	{"agent logs nope", 3, `agent "nope" not found`, "fika agent list"},
	{"agent route", 2, "the prompt is missing", ""},
	{"agent job show x", 2, "", "fika agent job list"},
	{"agent job logs 9", 3, "job 9 not found", "fika agent job list"},
	{"agent job end 9", 3, "job 9 not found", "fika agent job list"},
	{"chat send missing hello", 3, `chat "missing" not found`, "fika chat create missing"},
	{"chat stop nope", 3, `chat "nope" not found`, "fika chat list"},
	{"chat resume nope", 3, `chat "nope" not found`, "fika chat list"},
	{"chat why nope 1 coder", 3, `chat "nope" not found`, "fika chat list"},
	{"chat queue nope", 3, `chat "nope" not found`, "fika chat list"},
	{"chat limit nope", 3, `chat "nope" not found`, "fika chat list"},
	{"chat continue nope", 3, `chat "nope" not found`, "fika chat list"},
	{"chat rename nope other", 3, `chat "nope" not found`, "fika chat list"},
	{"chat limit nope --depth -1", 2, "--depth must be between 0 (no limit) and 1e15", ""},
	{"chat limit nope --echo 2", 2, "--echo is at least 4", ""},
	{"chat create UPPER!", 2, "", ""},
	{"chat cleanup --older-than x", 2, "", ""},
	{"context delete nobody --yes", 3, `context "nobody" not found`, "fika context list"},
	{"context rename nobody other", 3, `context "nobody" not found`, "fika context list"},
	{"context log nobody", 3, `context "nobody" not found`, "fika context list"},
	{"context clear nobody", 3, `context "nobody" not found`, "fika context list"},
	{"context import x /nope", 3, "/nope", ""},
	{"conversation show nobody", 3, "not found", "fika conversation list"},
	{"conversation list --limit -1", 2, "expected a number", ""},
	{"conversation list --agent nobody", 3, `agent "nobody" not found`, "fika agent list"},
	{"request show nope", 3, "not found", "fika request list"},
	{"request wait nope", 3, "not found", "fika request list"},
	{"request cancel nope", 3, "not found", "fika request list"},
	{"request retry nope", 3, "not found", "fika request list"},
	{"request trace nope", 3, `chain, request, run or conversation "nope" not found`, "fika request list"},
	{"request list --state nope", 2, "", ""},
	{"run -m nope hello", 2, `"nope"`, ""},
	{"run --output-format x hello", 2, "--output-format is text, json or stream-json", ""},
	{"run --continue hello", 2, "--continue takes no prompt", ""},
	{"run", 2, "the prompt is missing", ""},
	{"model show nope", 3, `model "nope" not found; known are script`, ""},
	{"model check nope", 3, `model "nope" not found`, ""},
	{"mcp show nope", 3, `server "nope" not found`, "fika mcp list"},
	{"mcp remove nope", 3, `server "nope" not found`, "fika mcp list"},
	{"mcp install x", 2, "give the COMMAND that the server is, or --url", ""},
	{"plugin remove nope", 3, `plugin "nope" not found`, "fika plugin list"},
	{"plugin enable nope", 3, `plugin "nope" not found`, "fika plugin list"},
	{"skill remove nope --yes", 3, `skill "nope" not found`, "fika skill list"},
	{"skill add /nope", 2, "/nope: cannot be opened: no such file or directory", ""},
	{"schedule pause nope", 3, `schedule "nope" not found`, "fika schedule list"},
	{"schedule run nope", 3, `schedule "nope" not found`, "fika schedule list"},
	{"schedule create x --agent coder --cron nope hi", 2, "nope", ""},
	{"workflow show nope", 3, `workflow "nope" not found`, "fika workflow list"},
	{"workflow wait nope", 3, `run "nope" not found`, "fika workflow list --runs"},
	{"workflow cancel nope", 3, `run "nope" not found`, "fika workflow list --runs"},
	{"board show 9", 3, "task 9 not found", "fika board list"},
	{"board close 9", 3, "task 9 not found", "fika board list"},
	{"board show x", 2, "", ""},
	{"land show 9", 3, "9 not found", "fika land list"},
	{"project forget nope --yes", 3, `project "nope" not found`, "fika project list"},
	{"key remove NOPE", 3, `key "NOPE" not found`, "fika key list"},
	{"key set not-a-name", 2, "", ""},
	{"budget remove home --per day", 3, "not found", "fika budget list"},
	{"budget set moon --per day --money 5", 2, "", ""},
	{"budget set home --per day", 2, "specify --money, --tokens or --remove", ""},
	{"budget set home --per day --money 0", 2, "between 0.000001 and 1e9", ""},
	{"usage --by nope", 2, "--by is one of", ""},
	{"usage --since x", 2, "not a duration", ""},
	{"usage profile --agent nobody", 3, `agent "nobody" not found`, "fika agent list"},
	{"web token revoke nope", 3, "not found", "fika web token list"},
	{"web webhook retry nope", 3, "not found", "fika web webhook list"},
	{"store restore /nope", 3, "backup /nope not found", "fika store backup --list"},
	{"store backup /nope/x.zip", 3, "folder /nope not found", ""},
	{"undo nope", 3, "", ""},
	{"--home /nope/home config check", 3, `home "/nope/home" not found`, ""},
	{"help foo", 2, `no command "foo"`, ""},
	{"agnet list", 2, "did you mean: fika agent list?", ""},
	{"approve abc", 2, `"abc" is not the number of an approval`, "fika approve"},
	{"approve 1 --always --deny no", 2, "--always and --deny cannot be used together", ""},
	{"schedule create x --cron @daily hi", 2, "specify one of --agent, --workflow, --chat", ""},
	{"budget set home --money 5", 2, "", ""},
	{"agent list --nope", 2, "unknown flag: --nope", ""},
	{"agent show", 2, "", ""},
	{"nope", 2, `no command "nope"`, ""},
	{"chat nope", 2, "", ""},
	{"executor nope", 3, `executor "nope" not found`, ""},
	{"login", 2, "did you mean: fika key set", ""},
	{"exec hello", 2, "fika run exec hello", ""},
	{"chat help", 2, "fika chat --help lists them", ""},
	{"budget remove", 2, "takes a scope", ""},
	{"store backup --json", 2, "--json goes with --list", ""},
	{"store restore", 2, "name the backup", ""},
	{"agent template show", 2, "takes the name of a template", ""},
	{"context switch", 2, "", ""},
	{"schedule pause", 2, "", ""},
	{"request cancel", 2, "", ""},
	{"chat mode nope plan", 3, `chat "nope" not found`, "fika chat list"},
	{"chat compact nope", 3, `chat "nope" not found`, "fika chat list"},
	{"chat rewind nope", 3, `chat "nope" not found`, "fika chat list"},
	{"chat pin nope 1", 3, `chat "nope" not found`, "fika chat list"},
	{"ask --new coder,ghost hello", 3, `agent "ghost" not found`, ""},
	{"ask --timeout x coder hello", 2, "--timeout", ""},
	{"agent list --limit x", 2, "--limit", ""},
}

// TestProvokedEverywhere: every command refuses a flag that it does not have and too many
// arguments as wrong usage, in one shape.
func TestProvokedEverywhere(t *testing.T) {
	h := newLooked(t)
	n := 0
	each(cli.CommandTree(), func(c *cobra.Command) {
		if !c.HasParent() || c.HasSubCommands() || strings.HasPrefix(c.Name(), "__") || c.Name() == "help" {
			return
		}
		path := strings.Fields(c.CommandPath())[1:]
		mistakes := [][]string{{"--no-such-flag"}}
		if !strings.Contains(c.Use, "...") {
			mistakes = append(mistakes, strings.Fields("a b c d e f g h i"))
		}
		for _, more := range mistakes {
			n++
			status, out, errs := h.call(append(slices.Clone(path), more...)...)
			lines := strings.Split(strings.TrimRight(errs, "\n"), "\n")
			if c.Name() == "add" && c.Parent().Name() == "agent" && len(more) > 1 {
				continue // its arguments are a program's
			}
			if status != 2 || out != "" || !strings.HasPrefix(lines[0], "fika: ") || strings.Contains(errs, "Usage:") {
				t.Errorf("fika %s %s: status %d, %s%s", strings.Join(path, " "), strings.Join(more, " "), status, out, errs)
			}
		}
	})
	if n < 250 {
		t.Errorf("only %d mistakes were made", n)
	}
}

// TestProvoked: errors have one shape: what is wrong, and on a line of its own a command
// that works as it is printed.
func TestProvoked(t *testing.T) {
	h := newLooked(t)
	for _, p := range provoked {
		status, _, errs := h.call(strings.Fields(p.args)...)
		lines := strings.Split(strings.TrimRight(errs, "\n"), "\n")
		last := lines[len(lines)-1]
		if status != p.status || !strings.Contains("\n"+errs, "\nfika: ") || !strings.Contains(errs, p.text) {
			t.Errorf("fika %s: status %d, %s", p.args, status, errs)
			continue
		}
		hint, hinted := strings.CutPrefix(last, "hint: ")
		if p.hint != "" && hint != p.hint {
			t.Errorf("fika %s: the hint is %q, not %q", p.args, hint, p.hint)
		}
		if hinted {
			if status, _, errs := h.call(strings.Fields(hint)[1:]...); status != 0 {
				t.Errorf("fika %s: its hint %q: status %d, %s", p.args, hint, status, errs)
			}
		}
	}
}
