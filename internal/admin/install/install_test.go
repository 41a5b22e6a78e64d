package install_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/admin/install"
)

// laid makes a prefix with a program, a page and a record, and returns it.
func laid(t *testing.T, record string) string {
	t.Helper()
	prefix, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bin/fika": "", "share/man/man1/fika.1": "", "share/man/man1/other.1": "", "share/fika/installed": record} {
		file := filepath.Join(prefix, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return prefix
}

func left(prefix string) []string {
	list, _ := filepath.Glob(filepath.Join(prefix, "*/*"))
	deeper, _ := filepath.Glob(filepath.Join(prefix, "*/*/*/*"))
	return append(list, deeper...)
}

// TestFind: what the record says, through a link; a record that names other files is not
// this program's, and one that names files elsewhere is refused.
func TestFind(t *testing.T) {
	const mine = "by script\nsource https://example.com/fika\nfile bin/fika\nfile share/man/man1/fika.1\n"
	prefix := laid(t, mine)
	link := filepath.Join(t.TempDir(), "fika")
	if err := os.Symlink(filepath.Join(prefix, "bin/fika"), link); err != nil {
		t.Fatal(err)
	}
	i, err := install.Find(link)
	if err != nil || i.By != "script" || i.Source != "https://example.com/fika" || i.Prefix != prefix || len(i.Files) != 3 {
		t.Errorf("found %+v, %v", i, err)
	}
	if err := i.RemoveFiles(); err != nil {
		t.Error(err)
	}
	if got := left(prefix); !slices.Equal(got, []string{filepath.Join(prefix, "share/man"), filepath.Join(prefix, "share/man/man1/other.1")}) {
		t.Errorf("left: %v", got)
	}
	if err := i.RemoveFiles(); err != nil {
		t.Errorf("removing it again: %v", err)
	}

	i, err = install.Find(filepath.Join(laid(t, "by script\nfile bin/other\n"), "bin/fika"))
	if err != nil || i.By != "" || len(i.Files) != 1 {
		t.Errorf("the record of another program: %+v, %v", i, err)
	}
	i, err = install.Find(filepath.Join(laid(t, "by deb\nremove sudo apt remove fika\n"), "bin/fika"))
	if err != nil || i.By != "deb" || i.Remove != "sudo apt remove fika" || len(i.Files) != 0 {
		t.Errorf("a package: %+v, %v", i, err)
	}
	if _, err = install.Find(filepath.Join(laid(t, mine+"file ../../etc/passwd\n"), "bin/fika")); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a record that leads out: %v", err)
	}
}

// TestNewest: one request to the address, which says nothing of who asks, and only answers
// that nobody on the way can have changed.
func TestNewest(t *testing.T) {
	line := strings.Repeat("0", 64) + "  fika-1.10.0-rc.1-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz\n"
	answer, asked := "", []string(nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String()+" "+r.UserAgent())
		switch {
		case strings.HasPrefix(r.URL.Path, "/away/"):
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		case answer == "":
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte(answer))
		}
	}))
	t.Cleanup(s.Close)
	answer = strings.Repeat("1", 64) + "  fika-1.10.0-rc.1-plan9-mips.tar.gz\n" + line
	if v, err := install.Newest(t.Context(), s.URL+"/x/"); err != nil || v != "1.10.0-rc.1" {
		t.Errorf("%q, %v", v, err)
	}
	if !slices.Equal(asked, []string{"GET /x/SHA256SUMS fika"}) {
		t.Errorf("it asked %q", asked)
	}
	for name, text := range map[string]string{"missing": "", "none": "nothing here\n", "two": line + line, "a page": "<html>fika-1.0-" + runtime.GOOS} {
		answer = text
		if v, err := install.Newest(t.Context(), s.URL); !fika.IsKind(err, fika.NotFound) {
			t.Errorf("%s: %q, %v", name, v, err)
		}
	}
	answer = line
	if _, err := install.Newest(t.Context(), s.URL+"/away"); !fika.IsKind(err, fika.NotFound) || !strings.Contains(err.Error(), "is not followed") {
		t.Errorf("a redirect to plain http: %v", err)
	}
	for _, unsafe := range []string{"http://example.com", "https://user:word@example.com", "file:///etc", "", "::"} {
		if _, err := install.Newest(t.Context(), unsafe); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%q: %v", unsafe, err)
		}
	}
}

// TestNewer: as semantic versions go, with and without a v; what is no release is not compared.
func TestNewer(t *testing.T) {
	for _, c := range []struct {
		a, b         string
		newer, known bool
	}{
		{"1.9.0", "1.10.0", true, true},
		{"v1.10.0", "1.10.0", false, true},
		{"1.10.0-rc.1", "1.10.0", true, true},
		{"2.0.0", "1.10.0", false, true},
		{"(devel)", "1.10.0", true, false},
	} {
		if newer, known := install.Newer(c.a, c.b); known != c.known || known && newer != c.newer {
			t.Errorf("%s to %s: %v, %v", c.a, c.b, newer, known)
		}
	}
}
