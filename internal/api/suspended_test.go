package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"fika"
)

// TestEveryWaitIsNamed: each reason that a request may wait for has a status of its own.
func TestEveryWaitIsNamed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../request.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if typ, ok := v.Type.(*ast.Ident); !ok || typ.Name != "WaitReason" {
			return true
		}
		reason, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		code := Suspended{Reason: fika.WaitReason(reason)}.Status().Code
		if code == WaitingOther || seen[code] != "" {
			t.Errorf("%s is %s, as %q", reason, code, seen[code])
		}
		seen[code] = reason
		return true
	})
	if len(seen) < 7 {
		t.Errorf("found only %d reasons", len(seen))
	}
}
