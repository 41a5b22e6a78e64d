package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
)

// TestK18Rotates: no line is lost or split, files stay within their size, and only
// so many are kept.
func TestK18Rotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traffic.jsonl")
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := openRotatedLog(path, 100, 3)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 150)
	lines := []string{"torn"}
	for i := range 20 {
		line := fmt.Sprintf("line %02d of those that are written", i)
		if i == 15 {
			line = long // larger than a file may be: it has one of its own
		}
		lines = append(lines, line)
		if err := l.Line([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if i == 10 { // another process goes on with it
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if l, err = openRotatedLog(path, 100, 3); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := openRotatedLog(path, 100, 3); !fika.IsKind(err, fika.Locked) {
		t.Errorf("two write one file: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, name := range []string{path + ".3", path + ".2", path + ".1", path} {
		text, err := os.ReadFile(name)
		if err != nil || len(text) > 100 && string(text) != long+"\n" {
			t.Errorf("%s: %v, %d bytes", name, err, len(text))
		}
		kept = append(kept, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	if got, want := strings.Join(kept, "\n"), strings.Join(lines[len(lines)-len(kept):], "\n"); got != want || len(kept) < 5 {
		t.Errorf("kept:\n%s\nwant:\n%s", got, want)
	}
	if _, err := os.Stat(path + ".4"); err == nil {
		t.Error("a fourth is kept")
	}
	for _, bad := range []string{t.TempDir(), "/dev/null", filepath.Join(t.TempDir(), "no", "file")} {
		if _, err := openRotatedLog(bad, 100, 3); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestLogMovedAway: when the file was moved or removed, a new one is begun, and no
// older one of ours is renamed for it.
func TestLogMovedAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traffic.jsonl")
	l, err := openRotatedLog(path, 100, 3)
	if err != nil {
		t.Fatal(err)
	}
	line := func(text string) {
		t.Helper()
		if err := l.Line([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	line("one")
	if err := os.Rename(path, path+"-20260102"); err != nil {
		t.Fatal(err)
	}
	line("two")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	line("three")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	gone, err := openRotatedLog(filepath.Join(t.TempDir(), "log"), 100, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(gone.path)); err != nil {
		t.Fatal(err)
	}
	if err := gone.Line([]byte("lost")); !fika.IsKind(err, fika.Storage) {
		t.Errorf("without its folder: %v", err)
	}
	if err := gone.Close(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{path + "-20260102": "one\n", path: "three\n"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(path + ".1"); err == nil {
		t.Error("something was renamed")
	}
}
