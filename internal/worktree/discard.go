package worktree

import (
	"context"
	"fmt"
	"strings"

	"fika"
	"fika/internal/git"
)

// Discarded is what became of a tree.
type Discarded struct {
	// Kept is a commit with the work that was nowhere else, which git keeps under Ref;
	// empty: there was none.
	Kept, Ref string
}

// Discard removes the tree and its branch. It fails with Conflict while the tree holds
// work that is nowhere else (uncommitted changes, commits that no other branch has).
// With force it keeps that work as a commit under a ref of its own instead.
func (t Tree) Discard(ctx context.Context, force bool) (d Discarded, err error) {
	branch, err := t.branchTip(ctx)
	if err != nil {
		return d, err
	}
	if t.IsMade() || branch == "" {
		if err := t.discardFiles(ctx, force, &d); err != nil {
			return d, err
		}
	}
	if branch == "" {
		return d, nil
	}
	return d, t.discardBranch(ctx, branch, force, &d)
}

// discardFiles removes the tree. It fails with NotFound if there is none.
func (t Tree) discardFiles(ctx context.Context, force bool, d *Discarded) error {
	if _, err := t.repository(ctx); err != nil {
		return err
	}
	at, err := head(ctx, t.Root)
	if err != nil {
		return err
	}
	tree, err := t.snapshot(ctx)
	if err != nil {
		return err
	}
	committed, err := git.RunLine(ctx, t.Root, "rev-parse", at+"^{tree}")
	if err != nil {
		return err
	}
	own, err := t.unmerged(ctx, at)
	if err != nil {
		return err
	}
	dirty := committed != tree
	if (dirty || own > 0) && !force {
		return t.refuse(own, dirty)
	}
	if dirty {
		out, err := git.RunCall(ctx, git.Call{Dir: t.Root, Args: []string{"commit-tree", tree, "-p", at, "-m", "Work of @" + string(t.Agent) + ", discarded"}, Env: t.IdentityEnv()})
		if err != nil {
			return err
		}
		at = strings.TrimSpace(string(out))
	}
	if dirty || own > 0 {
		if err := t.keep(ctx, at, d); err != nil {
			return err
		}
	}
	_, err = git.Run(ctx, t.Project, "worktree", "remove", "--force", "--force", "--", t.Root)
	return err
}

func (t Tree) refuse(own int, dirty bool) error {
	var has []string
	if own > 0 {
		has = append(has, fmt.Sprintf("%s that no other branch has", commits(own)))
	}
	if dirty {
		has = append(has, "changes that are not committed")
	}
	return fika.Errorf(fika.Conflict, "discard", "the worktree of @%[1]s has %[2]s: fika agent diff %[1]s shows them, fika agent merge %[1]s brings them to you, fika agent discard %[1]s --force throws them away", t.Agent, strings.Join(has, " and "))
}

// keep gives a commit a ref, so that git does not collect it.
func (t Tree) keep(ctx context.Context, commit string, d *Discarded) error {
	d.Kept, d.Ref = commit, "refs/fika/discarded/"+string(t.Agent)+"-"+commit[:12]
	_, err := git.Run(ctx, t.Project, "update-ref", "-m", "fika agent discard", d.Ref, commit)
	return err
}

// unmerged returns how many commits of the tree are on no other branch and no tag.
func (t Tree) unmerged(ctx context.Context, at string) (int, error) {
	n, err := git.RunLine(ctx, t.Project, "rev-list", "--count", at, "--not", "--exclude="+t.Branch(), "--branches", "--tags", "--remotes")
	return number(n), err
}

// branchTip returns the commit of the tree's branch, or "" if there is none.
func (t Tree) branchTip(ctx context.Context) (string, error) {
	at, err := git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", "refs/heads/"+t.Branch())
	if git.ExitStatus(err) == 1 {
		return "", nil
	}
	return at, err
}

// discardBranch removes the branch, after the tree is gone.
func (t Tree) discardBranch(ctx context.Context, at string, force bool, d *Discarded) error {
	own, err := t.unmerged(ctx, at)
	if err != nil {
		return err
	}
	if own > 0 && !force {
		return t.refuse(own, false)
	}
	if own > 0 && d.Kept == "" {
		if err := t.keep(ctx, at, d); err != nil {
			return err
		}
	}
	_, err = git.Run(ctx, t.Project, "update-ref", "-d", "refs/heads/"+t.Branch(), at)
	return err
}

// RepairTrees tells git where trees are after they or the repository were moved.
func RepairTrees(ctx context.Context, trees []Tree) error {
	if len(trees) == 0 {
		return nil
	}
	args := []string{"worktree", "repair"}
	for _, t := range trees {
		args = append(args, t.Root)
	}
	_, err := git.Run(ctx, trees[0].Project, args...)
	return err
}

func commits(n int) string {
	if n == 1 {
		return "1 commit"
	}
	return fmt.Sprintf("%d commits", n)
}
