package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/tool"
	"fika/internal/tool/file"
)

const secret = "the secret outside"

// guarded is a workspace beside a secret, with every kind of way out.
func guarded(t testing.TB) (k kit, outside string) {
	t.Helper()
	k = newKit(t)
	outside = filepath.Join(filepath.Dir(k.dir), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(k.dir+"-evil", 0o700); err != nil {
		t.Fatal(err)
	}
	k.write("in/f", "inside")
	for link, to := range map[string]string{
		"abs": outside, "rel": "../outside", "deep": "in/../../outside", "file": "../outside/secret",
		"absfile": filepath.Join(outside, "secret"), "chain": "rel", "in/up": "../../outside", "root": "/", "new": "../outside/new",
	} {
		if err := os.Symlink(to, filepath.Join(k.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return k, outside
}

func untouched(t testing.TB, outside string) {
	t.Helper()
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Fatalf("outside has %v, %v", entries, err)
	}
	if raw, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(raw) != secret {
		t.Fatalf("the secret is now %q, %v", raw, err)
	}
}

func TestNothingLeadsOut(t *testing.T) {
	k, outside := guarded(t)
	for _, path := range []string{
		"../outside/secret", "in/../../outside/secret", outside + "/secret", "/etc/passwd", k.dir + "/../outside/secret", k.dir + "-evil/x",
		"abs/secret", "rel/secret", "rel//secret", "deep/secret", "chain/secret", "file", "file/", "file/.", "absfile", "in/up/secret", "./rel/./secret",
		"root/etc/passwd", "rel/../outside/secret", "new", "rel/new", "abs/new", "chain/new/x", "/proc/self/root/etc/passwd", "in/up/", "rel/", "abs/", "chain/",
	} {
		for _, one := range []struct {
			name string
			args m
		}{
			{"read", m{"path": path}},
			{"list", m{"path": path}},
			{"list", m{"path": path + "/*"}},
			{"edit", m{"path": path, "old": "secret", "new": "gone"}},
			{"create", m{"path": path, "content": "x", "overwrite": true}},
			{"create", m{"path": path, "content": "x"}},
		} {
			// "rel/../outside/…" is lexically inside: a new file there is fine.
			r := k.do(one.name, one.args)
			if strings.Contains(r.Text, secret) || strings.Contains(r.Text, "root:") {
				t.Errorf("%s %s: %q", one.name, path, r.Text)
			}
			if !r.IsError && path != "rel/../outside/secret" && one.name != "list" {
				t.Errorf("%s %s went through: %q", one.name, path, r.Text)
			}
			untouched(t, outside)
		}
		for _, name := range []string{"edit", "create"} {
			one, c := k.call(name, m{"path": path, "old": "a", "new": "b"})
			if v, _ := tool.VerifierOf(one); v != nil {
				if h, err := v.Hash(t.Context(), c); err == nil && len(h) == 64 && !strings.HasPrefix(path, "rel/..") {
					t.Errorf("Hash of %s: %s", path, h)
				}
			}
		}
	}
	if got := k.ok("list", m{"path": "**"}); strings.Contains(got, "secret") && !strings.Contains(got, "->") {
		t.Errorf("a glob looked outside:\n%s", got)
	}
	if r := k.fails("read", m{"path": "../x"}, "outside the workspace"); !r.Denied {
		t.Errorf("got %+v", r)
	}
}

// A folder that is swapped for a link while tools work must not let them out.
func TestSwappedFolderDoesNotLeadOut(t *testing.T) {
	k, outside := guarded(t)
	dir, link := filepath.Join(k.dir, "swap"), filepath.Join(k.dir, "swap-link")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside", link); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		away := filepath.Join(k.dir, "swap-away")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(dir, away)
			_ = os.Rename(link, dir)
			_ = os.Rename(dir, link)
			_ = os.Rename(away, dir)
		}
	}()
	rounds := 4000
	if testing.Short() {
		rounds = 800
	}
	for i := range rounds {
		if r := k.do("read", m{"path": "swap/secret"}); strings.Contains(r.Text, secret) {
			t.Error("the secret was read")
			break
		}
		if i%50 == 0 { // these wait for the disk
			k.do("create", m{"path": "swap/planted", "content": "x", "overwrite": true})
			k.do("edit", m{"path": "swap/secret", "old": "mine", "new": "mine "})
		}
	}
	close(stop)
	<-stopped
	untouched(t, outside)
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{"in/f", "../outside/secret", "rel/secret", "abs/", "a/b/../c", "/", "in/./up//secret", "\x00", "*/secret", "**", "[", "in/f/", "~/x", "…"} {
		f.Add(p)
	}
	k, outside := guarded(f)
	f.Fuzz(func(t *testing.T, path string) {
		raw, err := json.Marshal(m{"path": path})
		if err != nil {
			t.Skip()
		}
		for _, one := range file.Tools(file.Options{})[:2] {
			r, err := one.Call(t.Context(), tool.Call{Args: raw, Workspace: k.dir})
			if err != nil || strings.Contains(r.Text, secret) || strings.Contains(r.Text, "root:x:") {
				t.Fatalf("%q: %+v, %v", path, r, err)
			}
		}
		for _, name := range []string{"create", "edit"} {
			k := kit{t: t, dir: k.dir, tools: k.tools}
			args := m{"path": path, "old": "secret", "new": "gone"}
			if name == "create" {
				args = m{"path": path, "content": "x", "overwrite": true}
			}
			one, c := k.call(name, args)
			if _, err := one.Call(t.Context(), c); err != nil {
				t.Fatalf("%s %q: %v", name, path, err)
			}
		}
		untouched(t, outside)
	})
}
