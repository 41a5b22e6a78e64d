package workflow

import (
	"embed"
	"strings"
)

// The shipped workflows are examples to copy from as well.
//
//go:embed shipped/*.toml
var shippedFiles embed.FS

// ShippedNames lists the workflows that fika brings along, by name.
func ShippedNames() []string {
	entries, err := shippedFiles.ReadDir("shipped")
	if err != nil {
		return nil // they are part of the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".toml")
	}
	return names
}

// ShippedText gives the text of a workflow that fika brings along; false: there
// is none of that name.
func ShippedText(name string) ([]byte, bool) {
	text, err := shippedFiles.ReadFile("shipped/" + name + ".toml")
	return text, err == nil
}
