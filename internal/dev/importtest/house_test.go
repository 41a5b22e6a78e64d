package importtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

const (
	maxFileLines = 600
	maxTestFile  = 1000
	maxFuncLines = 90
	maxTestLines = 150 // of a test function: its table is data
)

// long are files and functions that may be longer than the rest, each with its
// reason. It is best empty.
var long = map[string]string{}

// TestLength: a turn of nine hundred lines begins with one of ninety-one.
func TestLength(t *testing.T) {
	used := map[string]bool{}
	over := func(name string, lines, most int) {
		if lines <= most {
			return
		}
		used[name] = true
		if long[name] == "" {
			t.Errorf("%s has %d lines, more than %d: split it", name, lines, most)
		}
	}
	for _, s := range tree(t) {
		if s.test {
			over(s.name, strings.Count(s.text, "\n"), maxTestFile)
		} else {
			over(s.name, strings.Count(s.text, "\n"), maxFileLines)
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				most := maxFuncLines
				if s.test {
					most = maxTestLines
				}
				over(s.name+" "+f.Name.Name, s.set.Position(f.End()).Line-s.line(f)+1, most)
			}
		}
	}
	for name := range long {
		if !used[name] {
			t.Errorf("stale: %s is not that long", name)
		}
	}
}

// TestNoInit: nothing happens before main.
func TestNoInit(t *testing.T) {
	for _, s := range tree(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s:%d: init", s.name, s.line(f))
			}
		}
	}
}

// constant are package-level variables that no rule recognises as constants,
// with the reason why they are.
var constant = map[string]string{
	"internal/terminal/master/parse.go verbs": "a table that is only read",
	"internal/cli/version.go version":         "set by the linker when a release is built",
}

// TestNoState: package-level variables hold what never changes: sentinel
// errors, embedded files, lists, replacers, values computed once. And nobody
// assigns to one, or to a part of one.
func TestNoState(t *testing.T) {
	vars := map[string]map[string]bool{} // package → names
	top := map[any]bool{}                // their declarations
	used := map[string]bool{}
	for _, s := range tree(t) {
		if s.test || forTests(s.pkg) {
			continue
		}
		if vars[s.pkg] == nil {
			vars[s.pkg] = map[string]bool{}
		}
		for _, v := range packageVars(s) {
			vars[s.pkg][v.name] = true
			top[v.spec] = true
			key := s.name + " " + v.name
			if v.constant {
				continue
			}
			used[key] = true
			if constant[key] == "" {
				t.Errorf("%s:%d: %s may change: make it a constant, a list or a function, or list it with its reason", s.name, v.line, v.name)
			}
		}
	}
	for key := range constant {
		if !used[key] {
			t.Errorf("stale: %s needs no reason", key)
		}
	}
	for _, s := range tree(t) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			for _, target := range assigned(n) {
				if name, decl := rootName(target); vars[s.pkg][name] && (decl == nil || top[decl]) {
					t.Errorf("%s:%d: assigns to %s, a variable of the package", s.name, s.line(n), name)
				}
			}
			return true
		})
	}
}

type packageVar struct {
	name     string
	line     int
	constant bool
	spec     *ast.ValueSpec
}

func packageVars(s source) []packageVar {
	var out []packageVar
	for _, d := range s.ast.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			embedded := strings.Contains(commentText(g.Doc)+commentText(v.Doc), "//go:embed")
			for i, n := range v.Names {
				if n.Name == "_" {
					continue
				}
				ok := embedded || (i < len(v.Values) && neverChanges(v.Values[i]))
				out = append(out, packageVar{n.Name, s.line(n), ok, v})
			}
		}
	}
	return out
}

func commentText(g *ast.CommentGroup) string {
	if g == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range g.List {
		b.WriteString(c.Text)
	}
	return b.String()
}

// neverChanges recognises values that have no way to change.
func neverChanges(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.CallExpr:
		switch called(x) {
		case "errors.New", "strings.NewReplacer", "sync.OnceValue", "sync.OnceValues":
			return true
		}
		return false
	case *ast.CompositeLit:
		// A list is only as constant as its users: TestNoState watches those.
		a, ok := x.Type.(*ast.ArrayType)
		_, shared := elementOf(a).(*ast.StarExpr)
		return ok && !shared
	}
	return false
}

func elementOf(a *ast.ArrayType) ast.Expr {
	if a == nil {
		return nil
	}
	return a.Elt
}

// assigned gives what a statement writes to.
func assigned(n ast.Node) []ast.Expr {
	switch x := n.(type) {
	case *ast.AssignStmt:
		if x.Tok != token.DEFINE {
			return x.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{x.X}
	}
	return nil
}

// rootName finds the name at the root of an expression and its declaration, as
// far as the parser knows it: nil when it is in another file.
func rootName(e ast.Expr) (string, any) {
	for {
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			if x.Obj == nil {
				return x.Name, nil
			}
			return x.Name, x.Obj.Decl
		default:
			return "", nil
		}
	}
}

// called names a function as it is called: "errors.New".
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
		return "." + f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// TestDoc: a package says what it is and what to read first, in doc.go unless it has
// one file only; a command says so above its package clause.
func TestDoc(t *testing.T) {
	type doc struct{ file, text string }
	docs := map[string]doc{}
	mains, files := map[string]bool{}, map[string]int{}
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		files[s.pkg]++
		if _, ok := docs[s.pkg]; !ok {
			docs[s.pkg] = doc{}
		}
		mains[s.pkg] = mains[s.pkg] || s.ast.Name.Name == "main"
		if s.ast.Doc == nil {
			continue
		}
		text := s.ast.Doc.Text()
		if strings.HasPrefix(text, "Package ") || strings.HasPrefix(text, "Command ") {
			if old := docs[s.pkg]; old.file != "" {
				t.Errorf("%s has its comment twice: %s and %s", s.pkg, old.file, s.name)
			}
			docs[s.pkg] = doc{s.name, text}
		}
	}
	for pkg, d := range docs {
		switch {
		case d.text == "":
			t.Errorf("%s has no package comment", pkg)
		case mains[pkg]:
		case files[pkg] > 1 && !strings.HasSuffix(d.file, "doc.go"):
			t.Errorf("%s: the package comment belongs into doc.go", d.file)
		case !strings.Contains(strings.ToLower(strings.ReplaceAll(d.text, "\n", " ")), "read first"):
			t.Errorf("%s does not say what to read first", d.file)
		}
	}
}

// sleepers are test files that may sleep, each with its reason.
var sleepers = map[string]string{
	"internal/cli/script_test.go":         "between two looks at another process, which nothing here can hear",
	"internal/cli/holder_test.go":         "the same",
	"internal/cli/process_test.go":        "the same",
	"test/machines/figures_linux_test.go": "it counts what is done in a while, on request alone",
	"test/machines/lab_linux_test.go":     "a link that is slow",
}

// TestNoSleep: a test waits for what it needs, not for a while. Inside
// synctest a sleep takes no time and is exact.
func TestNoSleep(t *testing.T) {
	for _, s := range tree(t) {
		if !s.test || slices.Contains(s.imports(), "testing/synctest") || sleepers[s.name] != "" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && called(c) == "time.Sleep" {
				t.Errorf("%s:%d: sleeps", s.name, s.line(n))
			}
			return true
		})
	}
}

// TestErrorsAreNotText: what the program does next follows from the kind of an
// error and never from its words. Tests may read the words: they are for
// people, and somebody has to look whether they help.
func TestErrorsAreNotText(t *testing.T) {
	looking := []string{"strings.Contains", "strings.HasPrefix", "strings.HasSuffix", "strings.Index", "strings.EqualFold", "regexp.MatchString"}
	for _, s := range tree(t) {
		if s.test || forTests(s.pkg) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CallExpr:
				if slices.Contains(looking, called(x)) && slices.ContainsFunc(x.Args, isErrorText) {
					t.Errorf("%s:%d: looks into the text of an error", s.name, s.line(n))
				}
			case *ast.BinaryExpr:
				if (x.Op == token.EQL || x.Op == token.NEQ) && (isErrorText(x.X) && isLiteral(x.Y) || isLiteral(x.X) && isErrorText(x.Y)) {
					t.Errorf("%s:%d: compares the text of an error", s.name, s.line(n))
				}
			}
			return true
		})
	}
}

func isLiteral(e ast.Expr) bool { _, ok := e.(*ast.BasicLit); return ok }

func isErrorText(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	if !ok || len(c.Args) != 0 {
		return false
	}
	f, ok := c.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Error"
}

// TestNoPanic: whatever comes in, fika answers with an error.
func TestNoPanic(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || forTests(s.pkg) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch name := called(c); {
			case name == "panic":
				t.Errorf("%s:%d: panics", s.name, s.line(n))
			case strings.HasPrefix(name, "log.") && s.imports() != nil && slices.Contains(s.imports(), "log"):
				t.Errorf("%s:%d: %s: use slog, or tell the person", s.name, s.line(n), name)
			case name == "os.Exit" && s.ast.Name.Name != "main":
				t.Errorf("%s:%d: ends the program from within", s.name, s.line(n))
			}
			return true
		})
	}
}

// TestInterfaces: a contract that nobody can implement in an afternoon is two
// contracts.
func TestInterfaces(t *testing.T) {
	const most = 12
	for _, s := range tree(t) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok && methods(i) > most {
				t.Errorf("%s:%d: %s has %d methods", s.name, s.line(n), spec.Name.Name, methods(i))
			}
			return true
		})
	}
}

func methods(i *ast.InterfaceType) int {
	n := 0
	for _, f := range i.Methods.List {
		n += len(f.Names)
	}
	return n
}

// funcName names the function a node stands in, as docs/internals/threads.md does.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	return fmt.Sprintf("%s.%s", t.(*ast.Ident).Name, f.Name.Name)
}
