package folder_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"fika"
	"fika/internal/settings/folder"
)

// TestB12HistoryWithoutTime: a history that does not say when it was written has
// the time of its file, not that of the beginning of all clocks.
func TestB12HistoryWithoutTime(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "context.json")
	if err := os.WriteFile(path, []byte(`{"messages":[{"role":"user","content":"hello"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	c, err := folder.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	var window []fika.Entry
	err = c.EachOf(false, func(e fika.Entry) error { window = append(window, e); return nil })
	if err != nil || len(window) != 1 || !window[0].At.Equal(at) {
		t.Errorf("%+v %v", window, err)
	}
}
