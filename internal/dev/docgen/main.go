// Command docgen writes the references that are generated from the code into
// docs/reference: config.md, hooks.md, authority.md, codes.md, tables.md, and the folder
// cli with a page for each noun of the command line.
//
//	go run ./internal/dev/docgen docs
//	go run ./internal/dev/docgen man DIR          # a manual page of each command
//	go run ./internal/dev/docgen completions DIR  # what each shell needs to complete them
//
// A test fails when those files differ from what the code says.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	parts := map[string]func(string) error{"man": writeManuals, "completions": writeCompletions}
	if len(os.Args) == 3 && parts[os.Args[1]] != nil {
		if err := parts[os.Args[1]](os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "docgen:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "docgen: give the folder to write into: go run ./internal/dev/docgen docs")
		os.Exit(2)
	}
	all, err := pages()
	if err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
	if err := clear(filepath.Join(os.Args[1], commandsDir)); err != nil {
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

// page is one generated document; its name is below docs/.
type page struct{ name, text string }

// clear removes the pages of a folder in which every page is generated, and makes the folder.
func clear(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

func pages() ([]page, error) {
	tables, err := tablesPage()
	return append(commandPages(),
		page{"reference/config.md", configPage()}, page{"reference/hooks.md", hooksPage()}, page{"reference/authority.md", authorityPage()},
		page{"reference/codes.md", codesPage()}, page{"reference/tables.md", tables}), err
}

const notice = "<!-- written by go run ./internal/dev/docgen docs; change the code instead -->\n\n"
