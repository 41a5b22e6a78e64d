package worktree

import (
	"context"
	"strconv"
	"strings"

	"fika"
	"fika/internal/repository/git"
)

// State is how a tree compares with the person's working tree.
type State struct {
	Base    string // the last commit that the agent's work and the person's have in common
	Head    string // the agent's last commit
	Commits int    // the agent's own, since Base
	Dirty   bool   // there are uncommitted changes
	Open    string // what git has begun there and not ended: "conflicts", "operation" or nothing
	all     string // a commit of all files, committed or not
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
	out, err := git.Run(ctx, t.Project, "diff", "--numstat", "-z", "--no-renames", s.Base, s.all)
	if err != nil {
		return c, err
	}
	for _, line := range strings.Split(string(out), "\x00") {
		if f := strings.SplitN(line, "\t", 3); len(f) == 3 {
			c.Files = append(c.Files, File{Path: f[2], Added: number(f[0]), Removed: number(f[1])})
		}
	}
	out, err = git.Run(ctx, t.Project, "diff", s.Base, s.all)
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

// State compares the tree with the working tree into. It brings what the agent has
// committed, and all its files as a commit, into the person's repository.
func (t Tree) State(ctx context.Context, into string) (s State, err error) {
	o, err := t.offers(ctx)
	if err != nil {
		return s, err
	}
	s.Head, s.all, s.Open, s.Dirty = o.head, o.commit, o.open, o.commit != o.head
	theirs, err := head(ctx, into)
	if err != nil {
		return s, err
	}
	if s.Base, err = git.RunLine(ctx, t.Project, "merge-base", theirs, s.all); err != nil {
		return s, fika.Errorf(fika.Conflict, "worktree", "the work of %s and what is checked out in %s have no commit in common", t.whose(), into)
	}
	own, err := git.RunLine(ctx, t.Project, "rev-list", "--count", s.Base+".."+s.Head)
	s.Commits = number(own)
	return s, err
}
