package importtest

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// spelling are the packages that may spell a command of fika in a text: the commands
// themselves, the words that people read, and the explanations of settings, which are pages.
var spelling = []string{"internal/cli", "internal/text/hint", "internal/text/words", "internal/settings/config", "internal/dev", "internal/door"}

// TestCommandsAreSpelledOnce: a text below the command line names a command by its constant
// in internal/text/hint, so that a command is renamed in one place.
func TestCommandsAreSpelledOnce(t *testing.T) {
	pages, err := os.ReadDir("../../../docs/reference/cli")
	if err != nil {
		t.Fatal(err)
	}
	spelled, err := os.ReadFile("../../text/hint/command.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range pages {
		names = append(names, strings.TrimSuffix(p.Name(), ".md"))
	}
	for _, found := range regexp.MustCompile(`"fika (?:\w+ )?(\w+)`).FindAllStringSubmatch(string(spelled), -1) {
		names = append(names, found[1])
	}
	command := regexp.MustCompile(`\bfika (` + strings.Join(names, "|") + `)\b`)
	for _, s := range tree(t) {
		if s.test || forTests(s.pkg) || slices.ContainsFunc(spelling, func(p string) bool { return s.pkg == p || strings.HasPrefix(s.pkg, p+"/") }) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
				if found := command.FindString(l.Value); found != "" {
					t.Errorf("%s:%d: spells %q; use internal/text/hint: %s", s.name, s.line(l), found, l.Value)
				}
			}
			return true
		})
	}
}
