package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root, binary := ".", ""
	if len(os.Args) > 1 {
		binary = os.Args[1]
	}
	s, err := measure(root)
	if err == nil {
		err = s.print(os.Stdout, binary)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// measure surveys the product code below root.
func measure(root string) (*survey, error) {
	s := newSurvey()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel == "test" || rel == "bin" || (rel != "." && strings.HasPrefix(d.Name(), ".")) || d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, rel, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.add(fset, rel, string(src), file)
		return nil
	})
	return s, err
}

// print writes the table; binary may be empty.
func (s *survey) print(out io.Writer, binary string) error {
	row := func(what, format string, args ...any) {
		fmt.Fprintf(out, "%-38s %s\n", what, fmt.Sprintf(format, args...))
	}
	row("product code", "%d lines in %d files, %d packages (without comments and blanks)", s.lines, s.files, len(s.packages))
	row("one-word names, unexported functions", "%s", s.names[false])
	row("one-word names, exported functions", "%s", s.names[true])
	row("methods of a receiver", "%s", largest(s.methods, 4))
	row("methods of an interface", "%s", largest(s.interfaces(), 4))
	row("longest functions, lines", "%s", largest(s.functions, 3))
	row("largest files, lines", "%s", largest(s.sizes, 3))
	each, together := s.cliWidths()
	row("internal/cli imports", "%s of %d internal packages", largest(each, 3), together)
	row("internal/cli calls the store directly", "%d times", s.cliStoreCalls)
	if binary != "" {
		info, err := os.Stat(binary)
		if err != nil {
			return err
		}
		row("stripped binary", "%.1f MB", float64(info.Size())/1e6)
	}
	return nil
}

// largest names the n entries with the highest counts.
func largest(counts map[string]int, n int) string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := counts[b] - counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var out []string
	for _, name := range names[:min(n, len(names))] {
		out = append(out, fmt.Sprintf("%d (%s)", counts[name], name))
	}
	return strings.Join(out, ", ")
}
