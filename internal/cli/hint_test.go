package cli_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"fika/internal/cli"
	"fika/internal/text/words"
)

// TestHintsAreCommands: each command that an error, a notice or a status names is one of
// fika, takes the flags that are named with it, and as many arguments as it has braces.
func TestHintsAreCommands(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../text/hint/command.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	ast.Inspect(file, func(n ast.Node) bool {
		if l, is := n.(*ast.BasicLit); is {
			text, _ := strconv.Unquote(l.Value)
			list = append(list, strings.ReplaceAll(text, "{}", "1"))
		}
		return true
	})
	if len(list) < 90 {
		t.Fatalf("only %d commands were read", len(list))
	}
	for _, text := range words.Commands() {
		text, _, _ = strings.Cut(text, "[")
		list = append(list, strings.ReplaceAll(strings.ReplaceAll(text, "{id}", "1"), "{agent}", "a"))
	}
	for _, text := range list {
		call := strings.Fields(text)
		if call[0] != "fika" {
			t.Errorf("%q is no command of fika", text)
			continue
		}
		c, rest, err := cli.CommandTree().Find(call[1:])
		if err != nil || !c.Runnable() {
			t.Errorf("%q: no such command (%v)", text, err)
			continue
		}
		for shown := c; shown.HasParent(); shown = shown.Parent() {
			if shown.Hidden {
				t.Errorf("%q: an older spelling, which the help does not show", text)
			}
		}
		if last := rest[max(0, len(rest)-1):]; len(last) > 0 && strings.HasPrefix(last[0], "--") {
			if f := c.Flag(last[0][2:]); f != nil && f.NoOptDefVal == "" {
				rest = append(rest, "1") // the text leaves the value to the reader
			}
		}
		if err := c.ParseFlags(rest); err != nil {
			t.Errorf("%q: %v", text, err)
		} else if err := c.ValidateArgs(c.Flags().Args()); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
