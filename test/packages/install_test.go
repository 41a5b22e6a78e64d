package packages

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files lists what is below a folder, but for folders.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// served returns a copy of the release as a server shows it, which the test may damage.
func served(t *testing.T) (url, dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{archiveName() + ".tar.gz", "SHA256SUMS", "SHA256SUMS.sig", "install.sh"} {
		data, err := os.ReadFile(filepath.Join(release(t), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	return s.URL, dir
}

// rewrite changes a file of a served release.
func rewrite(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, change(data), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestInstallScript: from a server into an empty home, again over it, and away.
func TestInstallScript(t *testing.T) {
	need(t, "curl", "tar")
	url, dir := served(t)
	home := t.TempDir()
	env := []string{"HOME=" + home}
	script := filepath.Join(dir, "install.sh")
	out := must(t, home, env, "sh", script, "--from", url)
	for _, said := range []string{"signature good: ssh-ed25519 ", "checksum good: " + archiveName(), "installed fika " + version, "is not in your PATH", "fpath=("} {
		if !strings.Contains(out, said) {
			t.Errorf("it does not say %q:\n%s", said, out)
		}
	}
	prefix := filepath.Join(home, ".local")
	works(t, prefix, filepath.Join(prefix, "bin/fika"))

	// What an older version left goes with the next one, and only that.
	old, own := filepath.Join(prefix, "share/man/man1/fika-old.1"), filepath.Join(prefix, "share/man/man1/own.1")
	for _, name := range []string{old, own} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(t, filepath.Join(prefix, "share/fika/installed"), func(b []byte) []byte {
		return append(b, "file share/man/man1/fika-old.1\nfile ../outside\n"...)
	})
	outside := filepath.Join(home, "outside")
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, home, env, "sh", script, "--from", url+"/")
	if _, err := os.Stat(old); err == nil {
		t.Error("a page of an older version is still there")
	}

	if err := os.MkdirAll(filepath.Join(home, ".fika"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out := must(t, home, env, "sh", script, "--uninstall"); !strings.Contains(out, "stay in ~/.fika") {
		t.Errorf("it does not say what stays: %s", out)
	}
	if left := files(t, home); strings.Join(left, " ") != strings.Join([]string{own, outside}, " ") {
		t.Errorf("left after removing: %v", left)
	}
	if _, err := os.Stat(filepath.Join(home, ".fika")); err != nil {
		t.Error("removing took the data along")
	}
}

// TestInstallRefuses: nothing is installed that is not what was signed, and nothing from
// where others can change it on the way.
func TestInstallRefuses(t *testing.T) {
	need(t, "curl", "tar")
	other := filepath.Join(t.TempDir(), "other")
	must(t, "", nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other)
	damage := func(b []byte) []byte { return append(b, 'x') }
	resum := func(t *testing.T, dir string) {
		rewrite(t, filepath.Join(dir, archiveName()+".tar.gz"), damage)
		data, err := os.ReadFile(filepath.Join(dir, archiveName()+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		rewrite(t, filepath.Join(dir, "SHA256SUMS"), func([]byte) []byte {
			return fmt.Appendf(nil, "%x  %s.tar.gz\n", sha256.Sum256(data), archiveName())
		})
	}
	for _, c := range []struct {
		name, says string
		change     func(t *testing.T, dir string)
		args       []string
	}{
		{name: "damaged", says: "its checksum is not the one", change: func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, archiveName()+".tar.gz"), damage)
		}},
		{name: "replaced", says: "is not signed by", change: resum},
		{name: "another key", says: "is not signed by", args: []string{"--key", other + ".pub"}},
		{name: "no signature", says: "cannot fetch", change: func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "SHA256SUMS.sig")); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "no archive", says: "lists no archive", args: []string{"--key", ""}, change: func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, "SHA256SUMS"), func([]byte) []byte { return nil })
		}},
		{name: "plain http", says: "over plain http", args: []string{"--from", "http://127.0.0.1.example.com/x"}},
		{name: "user", says: "user name", args: []string{"--from", "http://127.0.0.1:80@example.com/x"}},
		{name: "nowhere", says: "published nowhere yet", args: []string{"--from", ""}},
		{name: "unknown", says: "unknown argument", args: []string{"--form", "x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, dir := served(t)
			if c.change != nil {
				c.change(t, dir)
			}
			home := t.TempDir()
			// The script of the source, which names no place.
			args := append([]string{filepath.Join(root(t), "scripts/install.sh"), "--from", url, "--key", keyFile() + ".pub"}, c.args...)
			out, err := call(t, home, []string{"HOME=" + home}, "sh", args...)
			if err == nil || !strings.Contains(out, c.says) {
				t.Errorf("%v, and it says %q instead of %q", err, out, c.says)
			}
			if left := files(t, home); len(left) > 0 {
				t.Errorf("installed: %v", left)
			}
		})
	}
}

// TestUnsigned: without a key it says what was not checked.
func TestUnsigned(t *testing.T) {
	need(t, "curl", "tar")
	_, dir := served(t) // a folder does as well as its server
	home := t.TempDir()
	out := must(t, home, []string{"HOME=" + home}, "sh", filepath.Join(root(t), "scripts/install.sh"), "--from", dir, "--prefix", "here")
	if !strings.Contains(out, "signature not checked: no key given") {
		t.Error(out)
	}
	works(t, filepath.Join(home, "here"), filepath.Join(home, "here/bin/fika"))
}

// TestArchive: the unpacked archive is whole, and its script installs it from there.
func TestArchive(t *testing.T) {
	need(t, "tar")
	dir := t.TempDir()
	must(t, dir, nil, "tar", "-xzf", filepath.Join(release(t), archiveName()+".tar.gz"))
	top := filepath.Join(dir, archiveName())
	for _, name := range []string{"fika", "install.sh", "LICENSE", "README.md", "CHANGELOG.md", "Containerfile", "docs", "man/man1/fika.1", "completions/fika", "completions/_fika", "completions/fika.fish"} {
		if _, err := os.Stat(filepath.Join(top, name)); err != nil {
			t.Error(err)
		}
	}
	must(t, top, []string{"HOME=" + dir}, "./install.sh", "--prefix", filepath.Join(dir, "usr"))
	works(t, filepath.Join(dir, "usr"), filepath.Join(dir, "usr/bin/fika"))
}
