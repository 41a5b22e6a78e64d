package importtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "fika"
	root   = "../../.."
)

// source is one Go file of the module.
type source struct {
	name string // "internal/hub/hub.go"
	pkg  string // "internal/hub"; "." is the root
	test bool
	text string
	ast  *ast.File
	set  *token.FileSet
}

// line is where a node stands.
func (s source) line(n ast.Node) int { return s.set.Position(n.Pos()).Line }

// imports are the paths a file imports.
func (s source) imports() []string {
	var out []string
	for _, i := range s.ast.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// parsed reads the tree once for all tests: every Go file, whatever its build
// tags.
var parsed = sync.OnceValues(func() ([]source, error) {
	var all []source
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if base := d.Name(); rel != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(set, rel, text, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{rel, path.Dir(rel), strings.HasSuffix(rel, "_test.go"), string(text), tree, set})
		return nil
	})
	return all, err
})

// tree gives every Go file of the module.
func tree(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("only %d Go files found under %s", len(all), root)
	}
	return all
}

// inModule turns the path of an import into the folder of the module it names.
func inModule(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// standard reports whether an import is of the standard library.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".") && first != module
}

// forTests reports whether a package exists for tests alone: suites,
// stand-ins, and what measures.
func forTests(pkg string) bool {
	return strings.HasPrefix(pkg, "test/") || strings.HasSuffix(path.Base(pkg), "test") || strings.Contains(pkg, "test/")
}
