package main

import (
	"strings"
	"testing"
)

func TestOneWord(t *testing.T) {
	for name, want := range map[string]bool{
		"run": true, "Run": true, "runAll": false, "RunAll": false, "ID": true, "IDOf": false, "a": true, "do_it": false, "URL": true,
	} {
		if got := oneWord(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCodeLines(t *testing.T) {
	if n := codeLines("// a\npackage a\n\n/* b\nc */\nvar x = `1\n2`\n"); n != 3 {
		t.Errorf("%d lines", n)
	}
}

// TestMeasure: the table of this repository has its rows.
func TestMeasure(t *testing.T) {
	s, err := measure("../..")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.print(&b, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"product code", "one-word names, unexported functions", "internal/cli imports"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if !s.cliImports["internal/cli/chat"]["fika/internal/service"] {
		t.Error("internal/service is not counted among what the command line imports")
	}
	if s.lines < 10_000 || s.names[false].all < 1000 || len(s.cliImports) == 0 {
		t.Errorf("too little was found:\n%s", &b)
	}
}
