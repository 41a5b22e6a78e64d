package worker

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fika"
	"fika/internal/store"
)

// TestCheckShared: a folder is an agent's only if it holds what the last owner wrote there.
func TestCheckShared(t *testing.T) {
	folder, copied := t.TempDir(), t.TempDir()
	put := func(dir string, marks ...string) {
		t.Helper()
		if err := writeMark(dir, mark{"store-1", "roamer", marks}); err != nil {
			t.Fatal(err)
		}
	}
	last := store.Workspace{AgentName: "roamer", Mark: "second"}
	put(folder, "first")
	put(copied, "first")
	put(folder, "first", "second")
	if err := CheckShared(folder, "store-1", last); err != nil {
		t.Errorf("its folder: %v", err)
	}
	if err := CheckShared(folder, "store-1", store.Workspace{AgentName: "roamer", Mark: "first"}); err != nil {
		t.Errorf("its owner was killed before it said so: %v", err)
	}
	if err := CheckShared(t.TempDir(), "store-1", store.Workspace{AgentName: "roamer"}); err != nil {
		t.Errorf("nobody has worked: %v", err)
	}
	odd := func(make func(path string)) string {
		dir := t.TempDir()
		make(filepath.Join(dir, markFile+"roamer"))
		return dir
	}
	text := mark{"store-1", "roamer", []string{"second"}}.text()
	for name, dir := range map[string]string{
		"empty":  t.TempDir(),
		"a copy": copied,
		"a link": odd(func(path string) { _ = os.Symlink(filepath.Join(folder, markFile+"roamer"), path) }),
		"a pipe": odd(func(path string) { _ = syscall.Mkfifo(path, 0o600) }),
		"a dir":  odd(func(path string) { _ = os.Mkdir(path, 0o700) }),
		"huge":   odd(func(path string) { _ = os.WriteFile(path, []byte(text+strings.Repeat("x", 1<<20)), 0o600) }),
		"noise":  odd(func(path string) { _ = os.WriteFile(path, []byte("\xff\x00mark second"), 0o600) }),
		"of another agent": odd(func(path string) {
			_ = os.WriteFile(path, []byte(strings.Replace(text, "roamer", "other", 1)), 0o600)
		}),
		"of another store": odd(func(path string) {
			_ = os.WriteFile(path, []byte(strings.Replace(text, "store-1", "store-2", 1)), 0o600)
		}),
	} {
		if err := CheckShared(dir, "store-1", last); err == nil {
			t.Errorf("%s is taken for the shared folder", name)
		}
	}
	if err := CheckShared(filepath.Join(folder, "nowhere"), "store-1", last); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("no folder: %v", err)
	}
}

// TestMarkFollowsNoLink: what is planted in the folder leads the writer nowhere else.
func TestMarkFollowsNoLink(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "authorized_keys")
	if err := os.WriteFile(secret, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{markFile + "roamer", markFile + "roamer.new"} {
		if err := os.Symlink(secret, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeMark(dir, mark{"store-1", "roamer", []string{"m"}}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(secret); string(data) != "mine" {
		t.Errorf("it was written through a link: %q, %v", data, err)
	}
	if err := CheckShared(dir, "store-1", store.Workspace{AgentName: "roamer", Mark: "m"}); err != nil {
		t.Error(err)
	}
}

func FuzzParseMark(f *testing.F) {
	f.Add(mark{"s", "a", []string{"m", "n"}}.text())
	f.Add("store \nagent\nmark  \r\nmark m\x00")
	f.Fuzz(func(t *testing.T, text string) {
		m := parseMark(text)
		if again := parseMark(m.text()); again.store != m.store || again.agent != m.agent || len(m.marks) > 0 && len(again.marks) != len(m.marks) {
			t.Errorf("%q: %+v, then %+v", text, m, again)
		}
	})
}
