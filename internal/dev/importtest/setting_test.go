package importtest

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const settingsPackage = "fika/internal/settings/config"

// settled are fields of the files that only internal/settings/config reads, because it
// makes another one of them, which the program reads.
var settled = map[string]string{
	"PerContext.ContextWindowLimit": "Settings.ContextWindow",
	"PerContext.Model":              "Settings.Model",
	"PerContext.Username":           "Settings.Username",
	"PerContext.Provider":           "Model.Provider",
	"PerContext.BaseURL":            "Model.BaseURL",
	"PerContext.APIKeyEnv":          "Model.APIKeyEnv",
	"PerContext.Lend":               "Sandbox.Lend",
	"PerContext.Hosts":              "Sandbox.Hosts",
	"PerContext.Executor":           "Tools.Executor",
	"PerContext.CallableBy":         "Guard.CallableBy",
	"PerContext.Rules":              "Guard.Rules",
	"Agent.ModelRules":              "ModelChoice.Rules",
	"Agent.Escalate":                "ModelChoice.Escalate",
	"Agent.Prices":                  "Model.Prices",
}

// toldBy are fields that no file sets: internal/settings/config itself tells of them.
var toldBy = map[string]string{
	"Model.BaseURLFrom": "Settings.Show names the variable",
}

// TestB14EverySettingIsRead: a setting that no code outside internal/settings/config reads
// is a promise that nobody keeps. Every field of config.Config and of what it
// holds is read by the program itself, or one of the same name is in
// config.Settings, which is what the files come to; and every field of that
// is read.
func TestB14EverySettingIsRead(t *testing.T) {
	all := newSettingReader(t)
	for _, pkg := range all.readers {
		all.check(t, pkg)
	}
	settings := promoted(fieldsOf(all.config, "Settings"))
	for _, f := range settings {
		if !all.read[f] {
			t.Errorf("Settings.%s is read by nobody", f.Name())
		}
	}
	used := map[string]bool{}
	for owner, fields := range held(all.config) {
		for _, f := range fields {
			name := owner + "." + f.Name()
			used[name] = true
			if toldBy[name] != "" {
				continue
			}
			if by, ok := settled[name]; ok {
				if !all.readByName(by) {
					t.Errorf("%s becomes %s, which nobody reads", name, by)
				}
				continue
			}
			same := slices.ContainsFunc(settings, func(s *types.Var) bool { return s.Name() == f.Name() && all.read[s] })
			if !all.read[f] && !same {
				t.Errorf("%s can be set and is read by nobody: let it do something, or take it away (key.ignored)", name)
			}
		}
	}
	for _, listed := range []map[string]string{settled, toldBy} {
		for name := range listed {
			if !used[name] {
				t.Errorf("stale: there is no %s", name)
			}
		}
	}
}

// asksForSettings finds the files that get the configuration from another package.
var asksForSettings = regexp.MustCompile(`\.(Config\(\)|Settings\b)`)

// settingReader finds which fields of the configuration are read.
type settingReader struct {
	imports types.Importer
	config  *types.Package
	readers []string // packages that import the configuration, or ask another one for it
	read    map[*types.Var]bool
}

func newSettingReader(t *testing.T) *settingReader {
	t.Helper()
	r := &settingReader{read: map[*types.Var]bool{}}
	for _, s := range tree(t) {
		p := s.pkg
		if s.test || forTests(p) || p == "internal/dev/docgen" || p == "internal/settings/config/migrate" || slices.Contains(r.readers, p) {
			continue
		}
		if slices.Contains(s.imports(), settingsPackage) || asksForSettings.MatchString(s.text) {
			r.readers = append(r.readers, p)
		}
	}
	exports := exported(t, r.readers)
	r.imports = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var err error
	if r.config, err = r.imports.Import(settingsPackage); err != nil {
		t.Fatal(err)
	}
	return r
}

// exported gives the files that hold what packages export, as the compiler
// wrote them, of some packages and all they need.
func exported(t *testing.T, pkgs []string) map[string]string {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, p := range pkgs {
		args = append(args, "./"+p)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		path, file, _ := strings.Cut(lines.Text(), " ")
		files[path] = file
	}
	return files
}

// check notes the fields that a package reads: it selects them, and not to give
// them a value.
func (r *settingReader) check(t *testing.T, pkg string) {
	t.Helper()
	var files []*ast.File
	var set *token.FileSet
	for _, s := range tree(t) {
		if ok, err := buildable(s.name); s.pkg == pkg && !s.test && ok && err == nil {
			files, set = append(files, s.ast), s.set
		}
	}
	info := types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: r.imports}
	if _, err := conf.Check(module+"/"+pkg, set, files, &info); err != nil {
		t.Fatal(err)
	}
	written := map[ast.Expr]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok {
				for _, to := range a.Lhs {
					written[to] = true
				}
			}
			return true
		})
	}
	for sel, what := range info.Selections {
		if field, ok := what.Obj().(*types.Var); ok && !written[sel] {
			r.read[field] = true
		}
	}
}

// buildable reports whether a file is built on this system.
func buildable(name string) (bool, error) {
	return build.Default.MatchFile(filepath.Join(root, filepath.Dir(name)), filepath.Base(name))
}

// readByName is read for a field written as "Type.Field".
func (r *settingReader) readByName(name string) bool {
	owner, field, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(promoted(fieldsOf(r.config, owner)), func(f *types.Var) bool { return f.Name() == field && r.read[f] })
}

// fieldsOf are the exported fields of a struct of a package.
func fieldsOf(pkg *types.Package, name string) []*types.Var {
	s, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var out []*types.Var
	for f := range s.Fields() {
		if f.Exported() {
			out = append(out, f)
		}
	}
	return out
}

// promoted has the fields of embedded structs in the place of these.
func promoted(fields []*types.Var) []*types.Var {
	var out []*types.Var
	for _, f := range fields {
		if s, ok := f.Type().Underlying().(*types.Struct); ok && f.Embedded() {
			for inner := range s.Fields() {
				out = append(out, inner)
			}
			continue
		}
		out = append(out, f)
	}
	return out
}

// held are the fields of Config and of every struct of its package that is
// within it, by the struct's name. A field that embeds another struct has no
// meaning of its own.
func held(pkg *types.Package) map[string][]*types.Var {
	out := map[string][]*types.Var{}
	var visit func(types.Type)
	visit = func(t types.Type) {
		switch t := t.(type) {
		case *types.Pointer:
			visit(t.Elem())
		case *types.Slice:
			visit(t.Elem())
		case *types.Map:
			visit(t.Elem())
		case *types.Named:
			name := t.Obj().Name()
			if t.Obj().Pkg() != pkg || out[name] != nil {
				return
			}
			for _, f := range fieldsOf(pkg, name) {
				if !f.Embedded() {
					out[name] = append(out[name], f)
				}
				visit(f.Type())
			}
		}
	}
	visit(pkg.Scope().Lookup("Config").Type())
	return out
}
