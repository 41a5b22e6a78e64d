package workflow

import (
	"embed"
	"strings"
)

// The shipped workflows are examples to copy from as well.
//
//go:embed shipped/*.toml
var shippedFiles embed.FS

// ShippedNames returns the names of the workflows that come with fika, sorted.
func ShippedNames() []string {
	entries, err := shippedFiles.ReadDir("shipped")
	if err != nil {
		return nil // the files are part of the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".toml")
	}
	return names
}

// ShippedText returns the text of a workflow that comes with fika; false means that
// there is none of that name.
func ShippedText(name string) ([]byte, bool) {
	text, err := shippedFiles.ReadFile("shipped/" + name + ".toml")
	return text, err == nil
}
