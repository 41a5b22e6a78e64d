package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStamps: a protected file that nobody has touched is not read again. One
// that has just been changed is, whatever its stamp, and so is one whose size and
// time somebody has made look alike.
func TestStamps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(path, []byte("mine"), 0o600))
	before, err := os.Lstat(path)
	must(t, err)
	old, settled := StampOf(before)
	if settled {
		t.Error("a file of now is settled")
	}
	read := func(settled bool) string {
		files, err := readKept(path, map[string]content{"": {Mode: before.Mode(), Data: []byte("seen"), stamp: old, settled: settled}})
		must(t, err)
		return string(files[""].Data)
	}
	if got := read(true); got != "seen" {
		t.Errorf("what nobody has touched was read again: %q", got)
	}
	if got := read(false); got != "mine" {
		t.Errorf("what has just changed is taken for %q", got)
	}
	for now := old; now.changed == old.changed; { // until the clock of the file system has gone on
		must(t, os.WriteFile(path, []byte("evil"), 0o600))
		must(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
		info, err := os.Lstat(path)
		must(t, err)
		now, _ = StampOf(info)
	}
	if got := read(true); got != "evil" {
		t.Errorf("what was made to look alike is taken for %q", got)
	}
}
