package cli_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestD6OneWriter: stdout is written to in command/answer.go and nowhere else, where
// every failed write is remembered.
func TestD6OneWriter(t *testing.T) {
	files := sources(t)
	for _, name := range files {
		if name == "command/answer.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if ok && (s.Sel.Name == "Out" || s.Sel.Name == "Stdout") && !allowedOut(set, s) {
				t.Errorf("%s uses stdout by itself; command/answer.go has a function for it", set.Position(s.Pos()))
			}
			return true
		})
	}
}

// sources are the files of the command line, those of each noun too.
func sources(t *testing.T) []string {
	var files []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files", len(files))
	}
	return files
}

// allowedOut are the places that hand stdout on, checked, or mean the stdout
// of another process.
func allowedOut(set *token.FileSet, s *ast.SelectorExpr) bool {
	base, ok := s.X.(*ast.Ident)
	file := set.Position(s.Pos()).Filename
	return (file == "cli.go" || file == "command/env.go") && s.Sel.Name == "Out" || ok && base.Name == "cmd" && s.Sel.Name == "Stdout"
}

// TestC7NoVanishingKeys: keys that have nothing to say are null in --json, never
// absent, except in the events of stream-json and what flags of chat view add.
func TestC7NoVanishingKeys(t *testing.T) {
	files := sources(t)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name == "event" {
				return false
			}
			field, ok := n.(*ast.Field)
			if ok && field.Tag != nil && strings.Contains(field.Tag.Value, "omitempty") && name != "page/printer.go" {
				t.Errorf("%s: %s vanishes when it is empty: use optional or nullable", name, field.Tag.Value)
			}
			return true
		})
	}
}
