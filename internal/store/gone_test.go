package store

import (
	"os"
	"path/filepath"
	"testing"

	"fika"
)

// TestD12GoneWhileOpen: nothing is accepted into a file that nobody will find again;
// once the file is back, work goes on.
func TestD12GoneWhileOpen(t *testing.T) {
	dir := t.TempDir()
	path, away := filepath.Join(dir, "fika.db"), filepath.Join(dir, "away.db")
	s := openAt(t, Options{Path: path})
	home := NewAgent{Name: "arya", HomeID: "h"}
	if _, err := s.EnsureAgent(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	refused := func(when string) {
		t.Helper()
		if _, err := s.EnsureAgent(t.Context(), NewAgent{Name: "gendry", HomeID: "h"}); !fika.IsKind(err, fika.Storage) || !IsLasting(err) {
			t.Errorf("%s: %v", when, err)
		}
	}
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	refused("moved")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("replaced")
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.EnsureAgent(t.Context(), NewAgent{Name: "gendry", HomeID: "h"}); err != nil {
		t.Errorf("back again: %v", err)
	}
}
