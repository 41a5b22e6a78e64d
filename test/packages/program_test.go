package packages

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpdateAndUninstall: what the script installed knows where it is from, whether there is
// something newer there, and how it goes away, alone and completely.
func TestUpdateAndUninstall(t *testing.T) {
	need(t, "curl", "tar")
	url, dir := served(t)
	home := t.TempDir()
	env := []string{"HOME=" + home}
	must(t, home, env, "sh", filepath.Join(dir, "install.sh"), "--from", url)
	fika := filepath.Join(home, ".local/bin/fika")

	if out := must(t, home, env, fika, "update", "--check"); out != "installed "+version+", newest "+version+": up to date\n" {
		t.Error(out)
	}
	rewrite(t, filepath.Join(dir, "SHA256SUMS"), func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("fika-"+version+"-"), []byte("fika-1.10.0-"))
	})
	if out, err := call(t, home, env, fika, "update", "--check", "--json"); err == nil || !strings.Contains(out, `"newest":"1.10.0","newer":true`) {
		t.Errorf("%v: %s", err, out)
	}

	if err := os.MkdirAll(filepath.Join(home, ".fika"), 0o700); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(home, ".fika", "notes.md")
	if err := os.WriteFile(notes, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := call(t, home, env, fika, "uninstall")
	if err == nil || !strings.Contains(out, "installed by the install script") || !strings.Contains(out, filepath.Join(home, ".fika")+"  ") {
		t.Errorf("%v: %s", err, out)
	}
	if len(files(t, filepath.Join(home, ".local"))) < 100 {
		t.Error("it removed something unasked")
	}
	must(t, home, env, fika, "uninstall", "-y")
	if left := files(t, home); len(left) != 1 || left[0] != notes {
		t.Errorf("left: %v", left)
	}
}
