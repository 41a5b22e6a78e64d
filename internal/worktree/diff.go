package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/git"
)

// State is how a tree compares with the person's working tree.
type State struct {
	Base    string // the last commit that the agent's work and the person's have in common
	Head    string // the agent's last commit
	Commits int    // the agent's own, since Base
	Dirty   bool   // there are uncommitted changes
	tree    string // git tree of all files, committed or not
}

// File is one file that an agent changed.
type File struct {
	Path           string
	Added, Removed int // lines; -1 if it is not text
}

// Changes are the changes in a tree, committed or not, since the last commit in common
// with the person's.
type Changes struct {
	State
	Files []File
	Text  string // a unified diff
}

// Diff returns the agent's changes, compared with the working tree into.
func (t Tree) Diff(ctx context.Context, into string) (Changes, error) {
	s, err := t.State(ctx, into)
	if err != nil {
		return Changes{}, err
	}
	c := Changes{State: s}
	out, err := git.Run(ctx, t.Root, "diff", "--numstat", "-z", "--no-renames", s.Base, s.tree)
	if err != nil {
		return c, err
	}
	for _, line := range strings.Split(string(out), "\x00") {
		if f := strings.SplitN(line, "\t", 3); len(f) == 3 {
			c.Files = append(c.Files, File{Path: f[2], Added: number(f[0]), Removed: number(f[1])})
		}
	}
	out, err = git.Run(ctx, t.Root, "diff", s.Base, s.tree)
	c.Text = string(out)
	return c, err
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// State compares the tree with the working tree into, without changing either.
func (t Tree) State(ctx context.Context, into string) (s State, err error) {
	if _, err := t.repository(ctx); err != nil {
		return s, err
	}
	if s.Head, err = head(ctx, t.Root); err != nil {
		return s, err
	}
	theirs, err := head(ctx, into)
	if err != nil {
		return s, err
	}
	if s.Base, err = git.RunLine(ctx, t.Root, "merge-base", theirs, s.Head); err != nil {
		return s, fika.Errorf(fika.Conflict, "worktree", "the work of @%s and what is checked out in %s have no commit in common", t.Agent, into)
	}
	own, err := git.RunLine(ctx, t.Root, "rev-list", "--count", s.Base+".."+s.Head)
	if err != nil {
		return s, err
	}
	s.Commits = number(own)
	if s.tree, err = t.snapshot(ctx); err != nil {
		return s, err
	}
	committed, err := git.RunLine(ctx, t.Root, "rev-parse", s.Head+"^{tree}")
	s.Dirty = committed != s.tree
	return s, err
}

// snapshot stores all files of the tree that are not ignored as a git tree object. It
// uses an index of its own, so that the agent's stays as it is.
func (t Tree) snapshot(ctx context.Context) (string, error) {
	temp, err := os.MkdirTemp("", "fika-index-")
	if err != nil {
		return "", fika.Wrap(fika.Storage, "look at worktree", err)
	}
	defer os.RemoveAll(temp)
	dir, err := git.RunLine(ctx, t.Root, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", err
	}
	index := filepath.Join(temp, "index")
	if err := copyIndex(filepath.Join(dir, "index"), index); err != nil {
		return "", fika.Wrap(fika.Storage, "look at worktree", err)
	}
	with := []string{"GIT_INDEX_FILE=" + index}
	if _, err := git.RunCall(ctx, git.Call{Dir: t.Root, Args: []string{"-c", "advice.addEmbeddedRepo=false", "add", "-A"}, Env: with}); err != nil {
		return "", err
	}
	out, err := git.RunCall(ctx, git.Call{Dir: t.Root, Args: []string{"write-tree"}, Env: with})
	return strings.TrimSpace(string(out)), err
}

// copyIndex copies an index together with its modification time: git rereads files
// that were changed in the second before the index was written, and a younger copy
// would hide their changes.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}
