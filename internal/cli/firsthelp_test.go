package cli_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"fika/internal/cli"
)

// TestFirstHelp: the help that somebody sees first fits on a screen, and it and each topic
// show commands that exist, with their flags; --all shows every command.
func TestFirstHelp(t *testing.T) {
	h := newLooked(t)
	root := cli.CommandTree()
	topics := []string{"agents", "chats", "jobs", "money", "safety", "files"}
	for _, words := range append([]string{"help", "--help", "-h"}, topics...) {
		args := []string{words}
		if words != "help" && !strings.HasPrefix(words, "-") {
			args = []string{"help", words}
		}
		status, out, errs := h.call(args...)
		lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
		if status != 0 || errs != "" || len(lines) > 45 || len(lines) < 10 {
			t.Errorf("%s: status %d, %d lines, %s", words, status, len(lines), errs)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > 80 {
				t.Errorf("%s: wide: %s", words, l)
			}
			command, _, _ := strings.Cut(strings.TrimSpace(l), "   ")
			for _, call := range calls(command) {
				if len(call) == 0 || strings.HasPrefix(call[0], "-") || call[0] == "help" || call[0] == "COMMAND" || call[0] == "WORD" || !strings.HasPrefix(l, "  ") {
					continue
				}
				call[len(call)-1], _, _ = strings.Cut(call[len(call)-1], "|")
				found, rest, err := root.Find(call)
				if err != nil || found == root {
					t.Errorf("%s: %v: %v", words, call, err)
				}
				for _, word := range rest {
					if !known(found, word) {
						t.Errorf("%s: %s has no flag %s", words, found.CommandPath(), word)
					}
				}
			}
		}
	}
	if _, first, _ := h.call("help"); !strings.Contains(first, "fika help --all") || !strings.Contains(first, strings.Join(topics[:5], ", ")+" or files") {
		t.Errorf("the first help does not name the rest:\n%s", first)
	}
	_, all, _ := h.call("help", "--all")
	for _, c := range root.Commands() {
		if !c.Hidden && !strings.Contains(all, "\n  "+c.Name()+" ") {
			t.Errorf("help --all does not show %s", c.Name())
		}
	}
	if status, _, errs := h.call("help", "nope"); status != 2 || !strings.Contains(errs, `"nope"`) {
		t.Errorf("help nope: %d, %s", status, errs)
	}
}

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
	{"template show nope", 3, `template "nope" not found`, "fika template list"},
	{"skill show nope", 3, `skill "nope" not found`, "fika skill list"},
	{"plugin show nope", 3, `plugin "nope" not found`, "fika plugin list"},
	{"plugin install nope", 3, `plugin "nope" not found`, "fika plugin list"},
	{"project show nope", 3, `project "nope" not found`, "fika project list"},
	{"job show 7", 3, "job 7 not found", "fika job list"},
	{"approve 9", 3, "approval 9 not found", "fika approve"},
	{"bus remove nope", 3, `member "nope" not found`, "fika bus list"},
	{"key show NOPE", 3, `key "NOPE" not found`, "fika key list"},
	{"budget show nope", 3, `budget of "nope" not found`, "fika budget list"},
	{"approve abc", 2, `"abc" is not the number of an approval`, "fika approve"},
	{"approve 1 --always --deny no", 2, "--always and --deny cannot be used together", ""},
	{"schedule create x --cron @daily hi", 2, "specify one of --agent, --workflow, --chat", ""},
	{"budget set home --money 5", 2, "", ""},
	{"agent list --nope", 2, "unknown flag: --nope", ""},
	{"agent show", 2, "", ""},
	{"nope", 2, `no command "nope"`, ""},
	{"chat nope", 2, "", ""},
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
