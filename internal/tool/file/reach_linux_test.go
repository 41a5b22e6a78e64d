package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"fika/internal/rights/guard"
	"fika/internal/tool"
	"fika/internal/tool/file"
)

// person is a home folder of a person that is a workspace too, with a home of
// fika in it, keys, and a repository.
func person(t testing.TB) kit {
	t.Helper()
	k := newKit(t)
	for name, content := range map[string]string{
		".fika/run/credentials": secret, ".fika/fika.db": secret, ".fika/contexts/gendry/transcript.md": secret,
		".fika/contexts/arya/local.toml": secret, ".fika/plugins/x": secret, ".fika/contexts/arya/output/full": "mine",
		".fika/contexts/arya/workspace/f": "mine",
		".ssh/id_ed25519":                 secret, ".bashrc": "alias", "repo/.git/config": "[core]", "repo/.git/HEAD": "ref", "repo/main.go": "package main",
		"repo/.git/hooks/pre-commit": "#!/bin/sh", "sub/AGENTS.md": "obey",
	} {
		k.write(name, content)
	}
	arya := filepath.Join(k.dir, ".fika", "contexts", "arya")
	k.tools = map[string]tool.Tool{}
	for _, one := range file.Tools(file.Options{Paths: guard.Paths{
		Homes: []string{filepath.Join(k.dir, ".fika")}, Persons: []string{k.dir},
		Own: []string{filepath.Join(arya, "output"), filepath.Join(arya, "workspace")},
	}}) {
		k.tools[one.Spec().Name] = one
	}
	return k
}

// links are second ways to what is out of reach.
func links(t testing.TB, k kit) {
	t.Helper()
	for name, to := range map[string]string{
		"tofika": ".fika", "tokey": ".ssh/id_ed25519", "tohooks": "repo/.git/hooks", "torepo": "repo", "chain": "tofika",
		"abs": filepath.Join(k.dir, ".fika"), "proc": "/proc/self/root",
	} {
		if err := os.Symlink(to, filepath.Join(k.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"hard": ".fika/run/credentials", "hardkey": ".ssh/id_ed25519"} {
		if err := os.Link(filepath.Join(k.dir, to), filepath.Join(k.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestD4HiddenIsNotRead(t *testing.T) {
	k := person(t)
	links(t, k)
	for _, path := range []string{
		".fika/run/credentials", ".fika/fika.db", ".fika/contexts/gendry/transcript.md", ".fika/contexts/arya/local.toml", ".fika/plugins/x",
		filepath.Join(k.dir, ".fika/fika.db"), "repo/../.fika/fika.db", "./.fika/./fika.db", "tofika/fika.db", "chain/fika.db", "tokey", ".ssh/id_ed25519",
		"hard", "hardkey", "torepo/../.fika/fika.db", "abs/fika.db", "proc" + k.dir + "/.fika/fika.db", "/proc/self/root" + k.dir + "/.fika/fika.db",
		".fika/contexts/arya/workspace/../local.toml", ".fika/contexts/arya/output/../../gendry/transcript.md",
	} {
		for name, args := range map[string]m{"read": {"path": path}, "list": {"path": path}, "edit": {"path": path, "old": "secret", "new": "x"}, "create": {"path": path, "content": "x", "overwrite": true}} {
			if name == "create" && strings.HasPrefix(path, "hard") {
				continue // it replaces the name, not the file
			}
			if r := k.do(name, args); !r.IsError || strings.Contains(r.Text, secret) {
				t.Errorf("%s %s: %+v", name, path, r)
			}
		}
	}
	for _, path := range []string{".fika", ".fika/contexts", "tofika", "chain", ".ssh", ".fika/*", ".fika/contexts/*/local.toml", "tofika/run"} {
		if r := k.do("list", m{"path": path}); strings.Contains(r.Text, "credentials") || strings.Contains(r.Text, "gendry") || strings.Contains(r.Text, "id_ed25519") {
			t.Errorf("list %s: %+v", path, r)
		}
	}
	for _, path := range []string{".", "**", ".*/**", ".*/*/*"} {
		r := k.do("list", m{"path": path})
		r.Text = regexp.MustCompile(` -> .*`).ReplaceAllString(r.Text, "") // where a link leads is no secret
		for _, word := range []string{"credentials", "fika.db", "gendry", "id_ed25519"} {
			if strings.Contains(r.Text, word) {
				t.Errorf("list %s shows %s:\n%s", path, word, r.Text)
			}
		}
	}
	if got := k.ok("list", m{"path": "."}); !strings.Contains(got, "[2 not shown") {
		t.Errorf("got %s", got)
	}
}

func TestD4ProtectedIsNotWritten(t *testing.T) {
	k := person(t)
	links(t, k)
	for _, path := range []string{
		".fika/plugins/new", ".fika/contexts/arya/local.toml", ".fika/contexts/new/local.toml", ".bashrc", ".profile", ".config/autostart/x.desktop", ".local/bin/ls",
		"repo/.git/hooks/pre-commit", "repo/.git/hooks/post-checkout", "tohooks/post-merge", "tohooks/new/x", "torepo/.git/config", "repo/.GIT/Hooks/x", "repo/.git/config",
		"repo/.git/info/attributes", "repo/.git/modules/sub/hooks/x", "repo/.git/worktrees/w/gitdir", "new/.git", "new/.git/hooks/x", "repo/.envrc",
		"repo/.vscode/tasks.json", "repo/.mcp.json", "sub/AGENTS.md", "repo/CLAUDE.md", "repo/.fika/config.toml", ".ssh/authorized_keys", ".FIKA/x",
		".fika/contexts/arya/workspace/.git/hooks/x",
	} {
		before, _ := os.ReadFile(filepath.Join(k.dir, path))
		r := k.do("create", m{"path": path, "content": "planted", "overwrite": true})
		if after, _ := os.ReadFile(filepath.Join(k.dir, path)); !r.Denied || string(after) != string(before) {
			t.Errorf("create %s: %+v, now %q", path, r, after)
		}
		if len(before) > 0 {
			if r := k.do("edit", m{"path": path, "old": string(before), "new": "planted"}); !r.Denied {
				t.Errorf("edit %s: %+v", path, r)
			}
		}
	}
	for _, dir := range []string{"new", ".config", ".local", "repo/.vscode", "repo/.git/hooks/new", ".FIKA"} {
		if _, err := os.Lstat(filepath.Join(k.dir, dir)); err == nil {
			t.Errorf("%s was made on the way", dir)
		}
	}
	if got := k.ok("read", m{"path": "repo/.git/config"}); !strings.Contains(got, "core") {
		t.Errorf("what is protected can be read: %s", got)
	}
	k.ok("create", m{"path": "repo/hooks/x", "content": "x"})
	k.ok("edit", m{"path": "torepo/main.go", "old": "main", "new": "other"})
}

// What is the agent's own stays in reach, though it is in the home.
func TestD4OwnFoldersStay(t *testing.T) {
	k := person(t)
	if got := k.ok("read", m{"path": ".fika/contexts/arya/output/full"}); got != "mine\n" && got != "mine" {
		t.Errorf("got %q", got)
	}
	inner := k
	inner.dir = filepath.Join(k.dir, ".fika", "contexts", "arya", "workspace")
	inner.ok("create", m{"path": "new", "content": "x"})
	inner.ok("edit", m{"path": "f", "old": "mine", "new": "ours"})
	if got := inner.ok("list", m{"path": "."}); !strings.Contains(got, "new") {
		t.Errorf("got %s", got)
	}
}

// A folder that becomes a link to a hidden one while tools work.
func TestD4SwappedFolder(t *testing.T) {
	k := person(t)
	dir, link := filepath.Join(k.dir, "swap"), filepath.Join(k.dir, "swap-link")
	k.write("swap/credentials", "mine")
	if err := os.Symlink(".fika/run", link); err != nil {
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
	for i := range 3000 {
		if r := k.do("read", m{"path": "swap/credentials"}); strings.Contains(r.Text, secret) {
			t.Error("the secret was read")
			break
		}
		if i%100 == 0 {
			k.do("create", m{"path": "swap/planted", "content": "x", "overwrite": true})
		}
	}
	close(stop)
	<-stopped
	if _, err := os.Lstat(filepath.Join(k.dir, ".fika", "run", "planted")); err == nil {
		t.Error("something was written into the home")
	}
}

// A bind mount gives a home another name, and only its identity tells. Needs a
// mount namespace.
func TestD4BindMount(t *testing.T) {
	k := person(t)
	at := filepath.Join(k.dir, "mounted")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(filepath.Join(k.dir, ".fika"), at, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount here: %v", err)
	}
	defer func() { _ = syscall.Unmount(at, 0) }()
	for _, args := range []m{{"path": "mounted/fika.db"}} {
		if r := k.do("read", args); !r.Denied {
			t.Errorf("got %+v", r)
		}
	}
	if r := k.do("create", m{"path": "mounted/plugins/y", "content": "x"}); !r.Denied {
		t.Errorf("got %+v", r)
	}
	raw, _ := json.Marshal(m{"path": "mounted/**"})
	if r, err := k.tools["list"].Call(t.Context(), tool.Call{Args: raw, Workspace: k.dir}); err != nil || strings.Contains(r.Text, "fika.db") {
		t.Errorf("%+v, %v", r, err)
	}
}
