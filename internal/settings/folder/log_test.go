package folder

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLogIsBounded: whatever a server writes while it runs, its log takes bounded space,
// and the end of it is kept (trial row S16).
func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	l, err := OpenBoundedLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 100 {
		if _, err := l.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Write([]byte("last words\n")); err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, name := range []string{path, path + ".1"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 40<<20 {
		t.Errorf("the log takes %d MiB", size>>20)
	}
	if data, _ := os.ReadFile(path); !bytes.HasSuffix(data, []byte("last words\n")) {
		t.Error("the last words are not in the log")
	}
}
