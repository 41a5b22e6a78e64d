package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika/internal/cli"
	"fika/internal/text/words"
)

// TestDrift: what the documents say is what the code says.
func TestDrift(t *testing.T) {
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, p := range all {
		named[p.name] = true
		on, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", p.name))
		if err != nil {
			t.Errorf("%v (make docs)", err)
			continue
		}
		if d := cmp.Diff(string(on), p.text); d != "" {
			t.Errorf("docs/%s is not what the code says (make docs):\n%.2000s", p.name, d)
		}
	}
	commands, err := os.ReadDir(filepath.Join("..", "..", "..", "docs", commandsDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range commands {
		if !named[commandsDir+"/"+e.Name()] {
			t.Errorf("docs/%s/%s is about no command (make docs)", commandsDir, e.Name())
		}
	}
}

// TestCommandsThatHelp: every command that the words for a code name exists.
func TestCommandsThatHelp(t *testing.T) {
	for verb, command := range words.Commands() {
		var args []string
		for _, word := range strings.Fields(strings.ReplaceAll(strings.TrimPrefix(command, "fika "), "[ ", " ")) {
			if !strings.ContainsAny(word, "{}") {
				args = append(args, word)
			}
		}
		c, rest, err := cli.CommandTree().Find(args)
		if err != nil || c.Parent() == nil {
			t.Errorf("%s: %q is no command: %v", verb, command, err)
			continue
		}
		for _, flag := range rest {
			if c.Flags().Lookup(strings.TrimPrefix(flag, "--")) == nil {
				t.Errorf("%s: %s has no flag %s", verb, c.CommandPath(), flag)
			}
		}
	}
}

// TestManual: a page has what man needs, and no line of it is taken for a request.
func TestManual(t *testing.T) {
	for _, c := range visible(cli.CommandTree()) {
		page := manual(c)
		for _, part := range []string{".TH ", ".SH NAME\n", ".SH SYNOPSIS\n"} {
			if !strings.Contains(page, part) {
				t.Errorf("the page of %s lacks %q", c.CommandPath(), part)
			}
		}
		for line := range strings.Lines(page) {
			request, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(line, ".") && !slices.Contains([]string{".TH", ".SH", ".B", ".BR", ".PP", ".TP", ".ad", ".br", ".fi", ".nf", ".nh"}, request) {
				t.Errorf("the page of %s has the request %q", c.CommandPath(), line)
			}
		}
	}
}
