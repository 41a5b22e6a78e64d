package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"fika/internal/store"
)

// Fresh returns the path of a new, empty store in a folder of the test. Creating the
// tables of a store takes longer than most tests do, above all under the race
// detector, so they are created once per test process and copied. All copies have the
// same store id.
func Fresh(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fika.db")
	FreshAt(t, path)
	return path
}

// FreshAt copies a new, empty store to a path whose folder exists; see [Fresh].
func FreshAt(t testing.TB, path string) {
	t.Helper()
	data, err := empty()
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// empty returns the contents of the file of an unused store.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "fika-empty-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	path := filepath.Join(dir, "fika.db")
	s, err := store.Open(context.Background(), store.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // which moves everything into the one file
		return nil, err
	}
	return os.ReadFile(path)
})
