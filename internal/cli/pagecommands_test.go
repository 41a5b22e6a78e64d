package cli_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"fika/internal/cli"
)

// noCommands are what the pages show although it is in no help.
var noCommands = []string{
	"fika --master", "fika --agent-mode --agent-name researcher", // of another program, and understood
	"fika help foo", // fails, which is what the page says
}

// TestCommandsOfThePages: whatever a page shows as a command of fika, in an example or in a
// sentence, is one, with flags that it has and as many arguments as it takes.
func TestCommandsOfThePages(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	span, checked := regexp.MustCompile("`(fika [^`]+)`"), 0
	for _, name := range append(names, "../../README.md", "../../docs/README.md", "../../CHANGELOG.md", "../../CONTRIBUTING.md", "../../PHILOSOPHY.md") {
		text := page(t, strings.TrimPrefix(name, "../../"))
		for i, part := range strings.Split("\n"+text, "\n```") {
			for line := range strings.Lines(part) {
				shown := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "$ "), "> ")
				if strings.HasPrefix(shown, "fika ") && !slices.Contains(noCommands, shown) && (i%2 == 1 || strings.HasPrefix(line, "    ")) {
					checked++
					for _, wrong := range wrongCalls(shown) {
						t.Errorf("%s: %s: %s", name, shown, wrong)
					}
				}
				if i%2 == 1 || strings.HasPrefix(line, "    ") {
					continue
				}
				for _, m := range span.FindAllStringSubmatch(line, -1) {
					if slices.Contains(noCommands, m[1]) {
						continue
					}
					checked++
					for _, wrong := range wrongCalls(m[1]) {
						t.Errorf("%s: %s: %s", name, m[1], wrong)
					}
				}
			}
		}
	}
	for _, line := range []string{"fika nosuch", "fika board nosuch", "fika ask --nosuch a b", "x | fika nosuch", "fika approve 1 2 --nosuch"} {
		if len(wrongCalls(line)) == 0 {
			t.Errorf("%s passes for a command", line)
		}
	}
	if checked < 500 {
		t.Errorf("only %d commands were found", checked)
	}
}

// wrongCalls says what is wrong with the commands of fika in a line of the shell. What
// the text leaves to the reader, in capitals or as …, counts as given.
func wrongCalls(line string) (wrong []string) {
	line, _, _ = strings.Cut(line, "   ") // an explanation beside it
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil // not the shell's
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, is := n.(*syntax.CallExpr)
		if !is || len(call.Args) < 2 || call.Args[0].Lit() != "fika" {
			return true
		}
		var words []string
		open := false // more may follow
		for _, w := range call.Args[1:] {
			text := line[w.Pos().Offset():w.End().Offset()]
			if at := strings.IndexAny(text, "[…"); at >= 0 && !strings.ContainsAny(text, "'\"") { // left to the reader
				text, open = text[:at], true
			}
			if len(words) == 0 && strings.ContainsAny(text, "'\"") {
				return true // a prompt
			}
			if text != "" && text != "{id}]" {
				words = append(words, strings.Trim(text, "'\""))
			}
		}
		if why := wrongCall(words, open); why != "" {
			wrong = append(wrong, why)
		}
		return true
	})
	return wrong
}

func wrongCall(words []string, open bool) string {
	if len(words) == 0 || slices.Contains([]string{"WORD", "COMMAND", "PROMPT"}, words[0]) {
		return ""
	}
	c, rest, err := cli.CommandTree().Find(words)
	switch {
	case err != nil:
		return err.Error()
	case !c.HasParent() && !strings.HasPrefix(words[0], "-"):
		return "no such command"
	case c.HasParent() && c.HasSubCommands() && !takesNames[c.Name()] && len(rest) > 0 && !strings.HasPrefix(rest[0], "-"):
		return c.CommandPath() + " has no command " + rest[0]
	}
	if last := rest[max(0, len(rest)-1):]; len(last) > 0 && strings.HasPrefix(last[0], "--") {
		if f := c.Flag(last[0][2:]); f != nil && f.NoOptDefVal == "" {
			rest = append(rest, "1") // the text leaves the value to the reader
		}
	}
	if err := c.ParseFlags(rest); err != nil {
		if strings.Contains(err.Error(), "invalid argument") {
			return "" // a word in its place
		}
		return err.Error()
	}
	if open || len(c.Flags().Args()) == 0 {
		return ""
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		return err.Error()
	}
	return ""
}
