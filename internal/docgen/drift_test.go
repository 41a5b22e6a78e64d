package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDrift: what the documents say is what the code says.
func TestDrift(t *testing.T) {
	for _, p := range pages() {
		on, err := os.ReadFile(filepath.Join("..", "..", "docs", p.name))
		if err != nil {
			t.Errorf("%v (make docs)", err)
			continue
		}
		if d := cmp.Diff(string(on), p.text); d != "" {
			t.Errorf("docs/%s is not what the code says (make docs):\n%.2000s", p.name, d)
		}
	}
}
