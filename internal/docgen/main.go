// Command docgen writes the references that are generated from the code: docs/CLI.md,
// docs/CONFIG.md, docs/HOOKS.md, docs/AUTHORITY.md, docs/CODES.md and docs/TABLES.md.
//
//	go run ./internal/docgen docs
//	go run ./internal/docgen man DIR   # a manual page of each command
//
// A test fails when those files differ from what the code says.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "man" {
		if err := writeManuals(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "docgen:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "docgen: give the folder to write into: go run ./internal/docgen docs")
		os.Exit(2)
	}
	all, err := pages()
	if err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
	for _, p := range all {
		if err := os.WriteFile(filepath.Join(os.Args[1], p.name), []byte(p.text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "docgen:", err)
			os.Exit(1)
		}
	}
}

// page is one generated document.
type page struct{ name, text string }

func pages() ([]page, error) {
	tables, err := tablesPage()
	return []page{
		{"CLI.md", commandsPage()}, {"CONFIG.md", configPage()}, {"HOOKS.md", hooksPage()}, {"AUTHORITY.md", authorityPage()}, {"CODES.md", codesPage()}, {"TABLES.md", tables},
	}, err
}

const notice = "<!-- written by go run ./internal/docgen docs; change the code instead -->\n\n"
