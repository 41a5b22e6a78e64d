package importtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// statement is the beginning of a text that only a database understands.
var statement = regexp.MustCompile(`^\s*(SELECT\s.*\sFROM\s|INSERT INTO\s|UPDATE\s+\w+\s+SET\s|DELETE FROM\s|WITH\s+\w+\s+AS\s|CREATE (TABLE|INDEX|SCHEMA)\s|ALTER (TABLE|SCHEMA)\s|DROP (TABLE|SCHEMA)\s|PRAGMA\s)`)

// TestSQL: the product's statements are in internal/store alone, where the plan
// test explains each of them.
func TestSQL(t *testing.T) {
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range all {
		if f.test || strings.HasPrefix(f.pkg, "test/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !statement.MatchString(strings.ReplaceAll(text, "\n", " ")) {
				return true
			}
			if found++; f.pkg != "internal/store" && !strings.HasPrefix(f.pkg, "internal/store/") {
				t.Errorf("%s:%d: SQL is written in internal/store only: %.60s", f.name, f.line(lit), text)
			}
			return true
		})
	}
	if found < 50 {
		t.Errorf("only %d statements were found: does this test still see them?", found)
	}
}
