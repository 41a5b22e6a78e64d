package strict_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sdk holds the types of a provider's official library, read from its source.
type sdk struct {
	types  map[string]ast.Expr // name → what the type is
	consts map[string][]string // name of a type of strings → its values
	dir    string
}

// sdkOf reads a module's types from folders of it. The test is skipped if the module cannot
// be had: it is no dependency, and is never linked.
func sdkOf(t *testing.T, module string, folders ...string) sdk {
	t.Helper()
	load := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	load.Dir = t.TempDir()
	out, err := load.Output()
	var at struct{ Dir string }
	if err != nil || json.Unmarshal(out, &at) != nil || at.Dir == "" {
		t.Skipf("%s cannot be had: %v", module, err)
	}
	s := sdk{map[string]ast.Expr{}, map[string][]string{}, at.Dir}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(at.Dir, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				s.read(t, name)
			}
		}
	}
	if len(s.types) == 0 {
		t.Fatalf("no types in %s", at.Dir)
	}
	return s
}

func (s *sdk) read(t *testing.T, name string) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		list, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range list.Specs {
			switch x := spec.(type) {
			case *ast.TypeSpec:
				if alias, ok := x.Type.(*ast.SelectorExpr); ok && alias.Sel.Name == x.Name.Name {
					continue // of a type in another folder
				}
				s.types[x.Name.Name] = x.Type
			case *ast.ValueSpec:
				kind, named := x.Type.(*ast.Ident)
				if !named || len(x.Values) != 1 {
					continue
				}
				if v, ok := x.Values[0].(*ast.BasicLit); ok && v.Kind == token.STRING {
					s.consts[kind.Name] = append(s.consts[kind.Name], strings.Trim(v.Value, `"`))
				}
			}
		}
	}
}

// field is a field of a struct as JSON has it.
type field struct {
	kind     ast.Expr
	required bool
	value    string // the only one that it may have; empty: any
}

// shape returns the fields of a struct, and the types that its value may have instead.
func (s *sdk) shape(x *ast.StructType) (fields map[string]field, variants []ast.Expr) {
	fields = map[string]field{}
	for _, f := range x.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
		name, options, _ := strings.Cut(tag.Get("json"), ",")
		switch {
		case name == "" && strings.Contains(options, "inline"):
			variants = append(variants, f.Type)
		case name != "" && name != "-":
			fields[name] = field{f.Type, strings.Contains(tag.Get("api"), "required"), tag.Get("default")}
		}
	}
	return fields, variants
}

// unknown returns the paths of a JSON value that a type does not know, and those that it
// requires and that are missing.
func (s *sdk) unknown(path string, v any, kind ast.Expr) []string {
	switch x := kind.(type) {
	case *ast.StarExpr:
		return s.unknown(path, v, x.X)
	case *ast.ParenExpr:
		return s.unknown(path, v, x.X)
	case *ast.SelectorExpr:
		if in, ok := x.X.(*ast.Ident); ok && in.Name == "constant" { // a text, whatever else has that name
			return nil
		}
		return s.unknown(path, v, x.Sel)
	case *ast.IndexExpr: // param.Opt[T]
		return s.unknown(path, v, x.Index)
	case *ast.ArrayType:
		var out []string
		list, ok := v.([]any)
		if !ok {
			if _, text := v.(string); text { // bytes
				return nil
			}
			return []string{path + ": is no list"}
		}
		for i, one := range list {
			out = append(out, s.unknown(fmt.Sprintf("%s[%d]", path, i), one, x.Elt)...)
		}
		return out
	case *ast.Ident:
		if inner, ok := s.types[x.Name]; ok {
			return s.unknown(path, v, inner)
		}
		return nil // a type of Go's, or of another module
	case *ast.StructType:
		return s.unknownInStruct(path, v, x)
	}
	return nil
}

func (s *sdk) unknownInStruct(path string, v any, x *ast.StructType) []string {
	fields, variants := s.shape(x)
	if len(variants) > 0 {
		var best []string
		for i, kind := range variants {
			if wrong := s.unknown(path, v, kind); i == 0 || len(wrong) < len(best) {
				best = wrong
			}
		}
		return best
	}
	object, ok := v.(map[string]any)
	if !ok {
		return []string{path + ": is no object"}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		f, known := fields[key]
		switch {
		case !known:
			out = append(out, path+"."+key)
		case f.value != "" && object[key] != f.value:
			out = append(out, fmt.Sprintf("%s.%s is not %q", path, key, f.value), path+": is another thing", path+": by far")
		default:
			out = append(out, s.unknown(path+"."+key, object[key], f.kind)...)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if _, there := object[key]; !there && fields[key].required {
			out = append(out, path+"."+key+" is missing")
		}
	}
	return out
}

// words returns the values that the comment on a field of a struct lists as "Any of …".
func (s *sdk) words(t *testing.T, file, structName, fieldName string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "\ntype "+structName+" struct {\n")
	text, _, found := strings.Cut(text, "\n\t"+fieldName+" string ")
	at := strings.LastIndex(text, "Any of ")
	if !found || at < 0 {
		t.Fatalf("%s.%s has no list of words", structName, fieldName)
	}
	var out []string
	for _, m := range regexp.MustCompile(`"([a-z_]+)"`).FindAllStringSubmatch(text[at:], -1) {
		out = append(out, m[1])
	}
	return out
}
