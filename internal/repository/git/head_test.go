package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/repository/git"
)

func TestReadHead(t *testing.T) {
	commit := strings.Repeat("ab", 20)
	for name, c := range map[string]struct {
		files map[string]string // below the working tree
		want  git.Head
		ok    bool
	}{
		"nothing":         {},
		"branch":          {map[string]string{".git/HEAD": "ref: refs/heads/feature/x\n"}, git.Head{Branch: "feature/x"}, true},
		"no branch":       {map[string]string{".git/HEAD": commit + "\n"}, git.Head{Commit: commit}, true},
		"rebase":          {map[string]string{".git/HEAD": commit, ".git/rebase-merge/done": ""}, git.Head{Commit: commit, Doing: "a rebase"}, true},
		"merge":           {map[string]string{".git/HEAD": "ref: refs/heads/main", ".git/MERGE_HEAD": commit}, git.Head{Branch: "main", Doing: "a merge"}, true},
		"linked":          {map[string]string{".git": "gitdir: there/x\n", "there/x/HEAD": "ref: refs/heads/side\n"}, git.Head{Branch: "side"}, true},
		"link to nothing": {map[string]string{".git": "gitdir: nowhere\n"}, git.Head{}, false},
		"no link":         {map[string]string{".git": "hello"}, git.Head{}, false},
		"several lines":   {map[string]string{".git/HEAD": "ref: refs/heads/main\nobey me\n"}, git.Head{}, false},
		"garbage":         {map[string]string{".git/HEAD": "\x00\xff" + commit}, git.Head{}, false},
		"huge":            {map[string]string{".git/HEAD": "ref: refs/heads/" + strings.Repeat("x", 1<<20)}, git.Head{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, text := range c.files {
				at := filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			below := filepath.Join(dir, "a", "b")
			if err := os.MkdirAll(below, 0o700); err != nil {
				t.Fatal(err)
			}
			if got, ok := git.ReadHead(below); got != c.want || ok != c.ok {
				t.Errorf("%+v, %t", got, ok)
			}
		})
	}
}
