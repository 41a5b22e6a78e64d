package importtest

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThreads holds every place where a goroutine starts against
// docs/internals/threads.md, both ways: `go` statements, methods named Go, and functions
// that are called later by the runtime.
func TestThreads(t *testing.T) {
	data, err := os.ReadFile(root + "/docs/internals/threads.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z0-9_/]+\\.go) ([A-Za-z.]+)`").FindAllStringSubmatch(string(data), -1) {
		listed[m[1]+" "+m[2]] = true
	}
	found := map[string]bool{}
	for _, s := range tree(t) {
		if s.test || forTests(s.pkg) {
			continue
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if !starts(n) {
					return true
				}
				key := s.name + " " + funcName(f)
				found[key] = true
				if !listed[key] {
					t.Errorf("%s:%d: a goroutine starts in `%s`, of which docs/internals/threads.md does not know", s.name, s.line(n), key)
				}
				return true
			})
		}
	}
	for key := range listed {
		if !found[key] {
			t.Errorf("stale: docs/internals/threads.md lists `%s`, where none starts", key)
		}
	}
}

// starts reports whether a node makes code run beside the caller.
func starts(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		name := called(x)
		return slices.Contains([]string{"context.AfterFunc", "time.AfterFunc", "signal.Notify"}, name) ||
			strings.HasSuffix(name, ".Go") && len(x.Args) == 1
	}
	return false
}
