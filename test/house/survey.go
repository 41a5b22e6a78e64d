package main

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// survey is the result of counting. Names of types are PACKAGE.Type.
type survey struct {
	files, lines  int
	packages      map[string]bool
	names         map[bool]share // by exported
	methods       map[string]int
	declared      map[string][]ast.Expr // the parts of each interface
	own           map[string]int        // its own methods
	functions     map[string]int
	sizes         map[string]int
	cliImports    map[string]map[string]bool // by package of the command line
	cliStoreCalls int
}

// share is a part of a whole.
type share struct{ some, all int }

// String returns the share in per cent.
func (s share) String() string {
	if s.all == 0 {
		return "none"
	}
	return fmt.Sprintf("%d %% (%d of %d)", (100*s.some+s.all/2)/s.all, s.some, s.all)
}

func newSurvey() *survey {
	return &survey{
		packages: map[string]bool{}, names: map[bool]share{}, methods: map[string]int{}, declared: map[string][]ast.Expr{},
		own: map[string]int{}, functions: map[string]int{}, sizes: map[string]int{}, cliImports: map[string]map[string]bool{},
	}
}

// add counts one file.
func (s *survey) add(fset *token.FileSet, path, src string, f *ast.File) {
	dir := filepath.ToSlash(filepath.Dir(path))
	s.files++
	s.packages[dir] = true
	s.lines += codeLines(src)
	s.sizes[path] = strings.Count(src, "\n")
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.addFunction(fset, path, dir, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					s.addInterface(dir, t)
				}
			}
		}
	}
	if dir == "internal/cli" || strings.HasPrefix(dir, "internal/cli/") {
		s.addCLI(dir, f)
	}
}

func (s *survey) addFunction(fset *token.FileSet, path, dir string, d *ast.FuncDecl) {
	name := d.Name.Name
	if name == "main" {
		return
	}
	n := s.names[ast.IsExported(name)]
	n.all++
	if oneWord(name) {
		n.some++
	}
	s.names[ast.IsExported(name)] = n
	lines := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1
	if d.Recv != nil {
		receiver := dir + "." + receiverName(d.Recv.List[0].Type)
		s.methods[receiver]++
		name = receiverName(d.Recv.List[0].Type) + "." + name
	}
	s.functions[path+" "+name] = lines
}

func (s *survey) addInterface(dir string, t *ast.TypeSpec) {
	i, ok := t.Type.(*ast.InterfaceType)
	if !ok {
		return
	}
	name := dir + "." + t.Name.Name
	for _, m := range i.Methods.List {
		if len(m.Names) > 0 {
			s.own[name] += len(m.Names)
		} else {
			s.declared[name] = append(s.declared[name], m.Type)
		}
	}
	s.own[name] += 0
}

// interfaces counts methods with those of embedded interfaces of the same
// package.
func (s *survey) interfaces() map[string]int {
	out := map[string]int{}
	var width func(name string, depth int) int
	width = func(name string, depth int) int {
		n := s.own[name]
		for _, part := range s.declared[name] {
			if id, ok := part.(*ast.Ident); ok && depth < 10 {
				dir, _, _ := cutLast(name)
				n += width(dir+"."+id.Name, depth+1)
			}
		}
		return n
	}
	for name := range s.own {
		out[name] = width(name, 0)
	}
	return out
}

// addCLI counts the imports of the command line.
func (s *survey) addCLI(dir string, f *ast.File) {
	imports := s.cliImports[dir]
	if imports == nil {
		imports = map[string]bool{}
		s.cliImports[dir] = imports
	}
	for _, i := range f.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil && strings.HasPrefix(path, "fika/internal/") && !strings.HasPrefix(path+"/", "fika/internal/cli/") {
			imports[path] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); ok {
			if of, ok := method.X.(*ast.SelectorExpr); ok && of.Sel.Name == "Store" {
				s.cliStoreCalls++
			}
		}
		return true
	})
}

// cliWidths is how many internal packages each package of the command line
// imports, besides its own, and how many they are together.
func (s *survey) cliWidths() (each map[string]int, together int) {
	each, all := map[string]int{}, map[string]bool{}
	for dir, imports := range s.cliImports {
		each[dir] = len(imports)
		for path := range imports {
			all[path] = true
		}
	}
	return each, len(all)
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndex(s, ".")
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func receiverName(t ast.Expr) string {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

// oneWord reports whether a name has no second word: no capital after the
// first letter but in a run of capitals at the beginning (ID, URL), no
// underscore.
func oneWord(name string) bool {
	runes := []rune(name)
	upper := 0
	for upper < len(runes) && unicode.IsUpper(runes[upper]) {
		upper++
	}
	if upper > 1 && upper < len(runes) {
		return false // IDOf, URLs: a second word follows
	}
	for _, r := range runes[max(upper, 1):] {
		if unicode.IsUpper(r) || r == '_' {
			return false
		}
	}
	return true
}

// codeLines counts the lines that hold something else than comments.
func codeLines(src string) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var sc scanner.Scanner
	sc.Init(file, []byte(src), nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := sc.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := file.Line(pos)
		for i := range strings.Count(lit, "\n") + 1 {
			lines[first+i] = true
		}
	}
}
