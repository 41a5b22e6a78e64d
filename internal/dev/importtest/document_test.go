package importtest

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents gives the Markdown files of the module.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/reference/cli/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.ToSlash(rel)] = string(text)
		}
	}
	if len(out) < 5 {
		t.Fatalf("only %d documents found", len(out))
	}
	return out
}

// TestLinks: a link between documents, and a file named in one, exist.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	file := regexp.MustCompile("`((?:cmd|internal|test)/[a-z0-9_/]+\\.go)\\b")
	for name, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
			}
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
	}
}

// otherNames are names in the documents that are not in the source, with whose
// they are.
var otherNames = map[string]string{
	"sync_interval":          "a setting of NATS servers",
	"ask_NAME_ID":            "how ids of conversations are put together",
	"jetstream.damaged-TIME": "a folder that is set aside, with the time",
	"goals.md":               "the name of a note with its ending",
	"MEMORY_FILE_PATH":       "a variable of a server that others have written",
}

// TestNames: a file or folder, a setting, column or variable, and a subject of
// the bus that a document names is in the source. Two documents are generated
// from it and compared elsewhere.
func TestNames(t *testing.T) {
	source := sourceOfNames(t)
	var (
		span    = regexp.MustCompile("`([^`\n]+)`")
		word    = regexp.MustCompile(`[A-Za-z]+(?:_[A-Za-z]+)+`)
		path    = regexp.MustCompile(`^[\w~$./-]+$`)
		ending  = regexp.MustCompile(`\.(?:toml|md|jsonl?|db|log|txt|lock)$`)
		subject = regexp.MustCompile(`^(?:fika|PREFIX)\.([a-z]+)(?:\.NAME)?(?:\.([a-z]+))?$`)
		ours    = regexp.MustCompile(`^(?:cmd|docs|internal|scripts|test)/`)
		anyName = regexp.MustCompile(`^(?:[A-Z]+|[~$.]|\.\.|\$[A-Z_]+)?$`)
	)
	used := map[string]bool{}
	for name, text := range documents(t) {
		if strings.HasPrefix(name, "docs/reference/cli/") || name == "docs/reference/config.md" {
			continue
		}
		missing := func(what, in string) {
			if used[what] = true; otherNames[what] == "" && !strings.Contains(source, strings.ToLower(what)) {
				t.Errorf("%s: %s names %s, which the source does not have", name, in, what)
			}
		}
		for _, m := range span.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			switch code := m[1]; {
			case ours.MatchString(code) || strings.HasSuffix(code, ".txtar"): // of the module: see TestLinks and TestPromises
			case subject.MatchString(code):
				for _, part := range subject.FindStringSubmatch(code)[1:] {
					missing(part, code)
				}
			case path.MatchString(code) && (strings.Contains(code, "/") || ending.MatchString(code)):
				for _, part := range strings.Split(code, "/") {
					if !anyName.MatchString(part) {
						missing(part, code)
					}
				}
			default:
				for _, w := range word.FindAllString(code, -1) {
					missing(w, code)
				}
			}
		}
	}
	for what := range otherNames {
		if !used[what] {
			t.Errorf("no document names %s any more", what)
		}
	}
}

var fences = regexp.MustCompile("(?ms)^```.*?^```")

// sourceOfNames is what names can be looked for in, in lower case: the program
// and its migrations, go.mod, the scripts, and what it brings along.
func sourceOfNames(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, s := range tree(t) {
		if !s.test {
			b.WriteString(s.text)
		}
	}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".sql") && !strings.HasSuffix(p, ".sh") && d.Name() != "go.mod" {
			return err
		}
		text, err := os.ReadFile(p)
		b.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.ToLower(b.String())
}

// TestPromises: the tests that docs/concepts/promises.md, docs/internals/failures.md,
// docs/concepts/security.md and docs/internals/protocols.md name exist.
func TestPromises(t *testing.T) {
	all := map[string]string{} // package → its source, tests and suites
	for _, s := range tree(t) {
		if s.test || forTests(s.pkg) {
			all[s.pkg] += s.text
		}
	}
	named := regexp.MustCompile("`((?:internal|test)/[a-z0-9/]+) ((?:Test|Fuzz)[A-Za-z0-9_]+|\"[^\"]+\")`")
	script := regexp.MustCompile("`([a-z0-9_]+\\.txtar)`")
	for name, least := range map[string]int{"docs/concepts/promises.md": 20, "docs/internals/failures.md": 80, "docs/concepts/security.md": 15, "docs/internals/protocols.md": 25} {
		text := documents(t)[name]
		found := named.FindAllStringSubmatch(text, -1)
		for _, m := range found {
			want := m[2]
			if !strings.HasPrefix(want, "\"") {
				want = "func " + want + "("
			}
			if !strings.Contains(all[m[1]], want) {
				t.Errorf("%s names %s of %s, which does not exist", name, m[2], m[1])
			}
		}
		for _, m := range script.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, "internal/cli/testdata/script", m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
		if len(found) < least {
			t.Errorf("%s names only %d tests", name, len(found))
		}
	}
}

// TestDependencies: go.mod and docs/internals/dependencies.md list the same direct
// dependencies.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	direct := map[string]bool{}
	for _, l := range strings.Split(string(mod), "\n") {
		f := strings.Fields(l)
		if len(f) == 2 && strings.HasPrefix(l, "\t") {
			direct[f[0]] = true
		}
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(documents(t)["docs/internals/dependencies.md"], -1) {
		listed[m[1]] = true
		if !direct[m[1]] {
			t.Errorf("docs/internals/dependencies.md lists %s, which go.mod does not require directly", m[1])
		}
	}
	for d := range direct {
		if !listed[d] {
			t.Errorf("docs/internals/dependencies.md does not say why %s is needed", d)
		}
	}
}

// TestDeclarations: what the pages about the code name as package.Name or
// Type.Method is declared, and in the file that they say.
func TestDeclarations(t *testing.T) {
	where := map[string][]string{} // package.Name and Type.Method → files
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			for _, name := range declared(d) {
				where[s.ast.Name.Name+"."+name] = append(where[s.ast.Name.Name+"."+name], s.name)
				where[name] = append(where[name], s.name)
			}
		}
	}
	named := regexp.MustCompile("`([A-Za-z]+\\.[A-Z][A-Za-z]+|[A-Z][A-Za-z]+\\.[a-z][A-Za-z]+)`(?: (?:in|of)\\s+`([a-z0-9_/]+\\.go)`)?")
	all := documents(t)
	for _, page := range []string{"docs/internals/architecture.md", "docs/internals/threads.md", "docs/reference/glossary.md", "CONTRIBUTING.md"} {
		for _, m := range named.FindAllStringSubmatch(all[page], -1) {
			switch files := where[m[1]]; {
			case strings.HasSuffix(m[1], ".md") || m[1] == "context.Context":
			case len(files) == 0:
				t.Errorf("%s: %s is declared nowhere", page, m[1])
			case m[2] != "" && !slices.Contains(files, m[2]):
				t.Errorf("%s: %s is not in %s but in %s", page, m[1], m[2], strings.Join(files, ", "))
			}
		}
	}
}

// declared are the names of a declaration: of functions and types, and of
// methods behind their type.
func declared(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{funcName(d)}
	case *ast.GenDecl:
		var names []string
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok {
				names = append(names, s.Name.Name)
			}
		}
		return names
	}
	return nil
}

// TestFoldersAreNamed: whoever looks into internal for the first time finds each folder in
// the table of the architecture, and no other.
func TestFoldersAreNamed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/internals/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| folder |")
	table, _, _ = strings.Cut(table, "\n\n")
	var named, there []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		named = append(named, m[1])
	}
	slices.Sort(named)
	entries, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		there = append(there, e.Name())
	}
	if !slices.Equal(named, there) {
		t.Errorf("the table names %q, there are %q", named, there)
	}
}
