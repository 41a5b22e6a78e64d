package folder

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestD11OnlyRegularFilesOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "out"), "secret")
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(string) error{
		"link":   func(p string) error { return os.Symlink("../out", p) },
		"fifo":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"device": func(p string) error { return os.Symlink("/dev/zero", p) },
		"large":  func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("x", 101)), 0o600) },
	} {
		if err := do(filepath.Join(sub, name)); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadInside(sub, name, 100); err == nil || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"fifo", "folder", "device", "large", "none"} {
		if got, err := ReadText(filepath.Join(sub, name), 100); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, err := ReadText(filepath.Join(sub, "link"), 100); err != nil || got != "secret" {
		t.Errorf("a person's own link: %q, %v", got, err)
	}
	if got, err := ReadInside(sub, "none", 100); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	write(t, filepath.Join(sub, "good"), "a\xff")
	if got, err := ReadInside(sub, "good", 100); err != nil || got != "a\ufffd" {
		t.Errorf("%q, %v", got, err)
	}
}
