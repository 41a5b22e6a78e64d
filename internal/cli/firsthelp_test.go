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
	topics := []string{"agents", "chats", "jobs", "models", "money", "safety", "files"}
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
	if _, first, _ := h.call("help"); !strings.Contains(first, "fika help --all") || !strings.Contains(first, strings.Join(topics[:6], ", ")) {
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
