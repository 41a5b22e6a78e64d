package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestResolver: it says what EvalSymlinks says, of links in the middle and at the
// end, of what is missing, and of circles.
func TestResolver(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "a", "b", "file"), nil, 0o600))
	must(t, os.Symlink("a", filepath.Join(dir, "link")))
	must(t, os.Symlink("../link/b/file", filepath.Join(dir, "a", "far")))
	must(t, os.Symlink("circle", filepath.Join(dir, "circle")))
	r := NewResolver()
	for range 2 { // from what it remembers, too
		for _, name := range []string{"", "a/b/file", "link", "link/b", "link/b/file", "link/far", "a/far", "none", "link/none/x", "circle", "circle/x", "a/b/file/x", "a/../link/far"} {
			path := filepath.Join(dir, name)
			want, wantErr := filepath.EvalSymlinks(path)
			got, err := r.Real(path)
			if got != want || (err == nil) != (wantErr == nil) {
				t.Errorf("%s: %q, %v instead of %q, %v", name, got, err, want, wantErr)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
