package guard_test

import (
	"path/filepath"
	"strings"
	"testing"

	"fika"
	"fika/internal/rights/guard"
)

func paths() guard.Paths {
	return guard.Paths{
		Homes: []string{"/home/ann/.fika", "/srv/fika"}, Persons: []string{"/home/ann"},
		Own:    []string{"/home/ann/.fika/contexts/arya/output", "/home/ann/.fika/contexts/arya/workspace"},
		Obeyed: []string{"/home/ann/src/.githooks"},
	}
}

func TestD4Paths(t *testing.T) {
	const seen, read, hidden = "seen", "read only", "hidden"
	for path, want := range map[string]string{
		"/home/ann/src/x.go":                                 seen,
		"/home/ann":                                          seen,
		"/home/ann/.fika-old/x":                              seen,
		"/home/ann/.fika":                                    hidden,
		"/home/ann/.fika/run/credentials":                    hidden,
		"/home/ann/.FIKA/fika.db":                            hidden,
		"/home/ann/.fika/contexts/arya/local.toml":           hidden,
		"/home/ann/.fika/contexts/gendry/workspace/x":        hidden,
		"/home/ann/.fika/contexts/arya/output/x":             seen,
		"/home/ann/.fika/contexts/arya/workspace/a/x":        seen,
		"/home/ann/.fika/contexts/arya/workspace/.git/HEAD":  read,
		"/home/ann/.fika/contexts/arya/workspace/.git/hooks": read,
		"/srv/fika/plugins/x":                                hidden,
		"/home/ann/.ssh/id_ed25519":                          hidden,
		"/home/ann/.aws":                                     hidden,
		"/home/ann/.config/gcloud/x.json":                    hidden,
		"/home/ann/.config/gh/hosts.yml":                     hidden,
		"/home/ann/.mozilla/firefox/p/logins.json":           hidden,
		"/home/ann/.npmrc":                                   hidden,
		"/home/bob/.ssh/config":                              seen, // the system keeps other people's
		"/proc/1/environ":                                    hidden,
		"/proc/self/root/home/ann/x":                         hidden,
		"/home/ann/.bashrc":                                  read,
		"/home/ann/.config/systemd/user/x.service":           read,
		"/home/ann/.local/bin/git":                           read,
		"/home/ann/src/.bashrc":                              seen,
		"/home/ann/src/.git":                                 read,
		"/home/ann/src/.git/hooks/pre-commit":                read,
		"/home/ann/src/.Git/Hooks/pre-commit":                read,
		"/home/ann/src/.git/config":                          read,
		"/home/ann/src/.git/info/attributes":                 read,
		"/home/ann/src/.git/modules/sub/config":              read,
		"/home/ann/src/.git/modules/a/b/hooks/x":             read,
		"/home/ann/src/.git/worktrees/w/gitdir":              read,
		"/home/ann/src/.git/worktrees/w/commondir":           read,
		"/home/ann/src/.git/config.worktree":                 read,
		"/home/ann/src/.git/refs/heads/main":                 read,
		"/home/ann/src/sub/.git":                             read,
		"/home/ann/src/.git/rebase-merge/git-rebase-todo":    read,
		"/home/ann/src/.githooks/pre-commit":                 read,
		"/home/ann/src/hooks/useThing.ts":                    seen,
		"/home/ann/src/config":                               seen,
		"/home/ann/src/.fika/config.toml":                    read,
		"/home/ann/src/.envrc":                               read,
		"/home/ann/src/a/.vscode/tasks.json":                 read,
		"/home/ann/src/.mcp.json":                            read,
		"/home/ann/src/a/AGENTS.md":                          read,
		"/home/ann/src/a/agents.MD":                          read,
		"/home/ann/src/CLAUDE.md":                            read,
		"/home/ann/src/AGENTS.md/x":                          seen,
	} {
		look, change := paths().Look(path), paths().Change(path)
		got := seen
		switch {
		case look != nil:
			got = hidden
		case change != nil:
			got = read
		}
		if got != want {
			t.Errorf("%s: %s, want %s (%v; %v)", path, got, want, look, change)
		}
		if change != nil && !fika.IsKind(change, fika.Denied) {
			t.Errorf("%s: %v is not Denied", path, change)
		}
	}
}

// FuzzPaths: everything below a hidden path is hidden, and nothing hidden may be
// changed.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a/b", ".ssh/x", "../..", ".git//hooks", "\x00", "İ/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := paths()
		path := filepath.Join("/home/ann", s)
		if p.Look(path) != nil && (p.Change(path) == nil || p.Look(filepath.Join(path, "x")) == nil && !strings.Contains(path, "/contexts/arya")) {
			t.Errorf("%q is hidden, but not what is in it", path)
		}
		if below := filepath.Join("/srv/fika", filepath.Clean("/"+s)); p.Look(below) == nil {
			t.Errorf("%q is in a home, and seen", below)
		}
	})
}
