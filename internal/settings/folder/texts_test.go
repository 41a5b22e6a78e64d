package folder

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A home that remembers its texts sees every change of a file that anybody can
// make without setting the clock back: in place, by another file, by none.
func TestRememberedTexts(t *testing.T) {
	home := HomeAt(t.TempDir()).WithCache()
	if err := os.MkdirAll(home.PromptsDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home.PromptsDir(), "reflection.md")
	long := time.Now().Add(-time.Hour)
	says := func(want string) {
		t.Helper()
		for range 2 { // read, and remembered
			if got, err := home.Reflection(); err != nil || got.Body != want || (got.Hash == "") != (want == "") {
				t.Fatalf("%+v, %v, want %q", got, err, want)
			}
		}
	}
	at := func(path string, when time.Time) {
		t.Helper()
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	says("")
	write(t, path, "one")
	at(path, long)
	says("one")
	write(t, path, "two") // of the same size, in the same file
	says("two")
	at(path, long.Add(time.Second))
	says("two")
	other := path + ".new"
	write(t, other, "six") // another file of the same size and time
	at(other, long.Add(time.Second))
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	says("six")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	says("")
}

// What has not changed is not read again.
func TestRememberedTextIsNotReadAgain(t *testing.T) {
	home := HomeAt(t.TempDir()).WithCache()
	path := filepath.Join(home.Root, "goals.md")
	write(t, path, "ship it")
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	first, err := home.readText(path)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	home.texts.known[path] = knownText{seen, Text{Body: "remembered", Hash: first.Hash}}
	if again, err := home.readText(path); err != nil || again.Body != "remembered" {
		t.Errorf("%+v, %v", again, err)
	}
}
