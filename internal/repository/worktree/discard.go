package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/repository/git"
	"fika/internal/text/hint"
)

// Discarded is what became of a tree.
type Discarded struct {
	// Kept is a commit with the work that was nowhere else, which git keeps under Ref;
	// empty: there was none.
	Kept, Ref string
}

// Discard removes the tree and its refs. It fails with Conflict while the tree holds work
// that is nowhere else (uncommitted changes, commits that no branch or tag of the
// person's has). With force it keeps that work as a commit under a ref of its own
// instead; of a tree that git cannot read, it keeps what came home before. What has landed
// is nowhere else only if it is not behind one of the commits landed. It fails with NotFound
// if there is nothing.
func (t Tree) Discard(ctx context.Context, force bool, landed ...string) (d Discarded, err error) {
	if t.IsLinked() {
		if _, _, err := t.Open(ctx); err != nil {
			return d, err
		}
	}
	refs, err := t.refs(ctx, t.Remote())
	if err != nil {
		return d, err
	}
	if !t.IsMade() && len(refs) == 0 {
		return d, t.check(ctx)
	}
	at, dirty := refs["HEAD"], false
	if t.IsMade() {
		o, err := t.offers(ctx)
		switch {
		case err == nil:
			at, dirty = o.commit, o.commit != o.head
		case !force || fika.IsKind(err, fika.Interrupted):
			return d, err
		}
	}
	if refs, err = t.refs(ctx, t.Remote()); err != nil {
		return d, err
	}
	own, err := t.unmerged(ctx, landed)
	if err != nil {
		return d, err
	}
	if (dirty || own > 0) && !force {
		return d, t.refuse(own, dirty)
	}
	if dirty || own > 0 {
		for name, commit := range refs {
			if name != "HEAD" && commit != refs["HEAD"] {
				if err := t.keep(ctx, commit, &d); err != nil {
					return d, err
				}
			}
		}
		if at != "" {
			if err := t.keep(ctx, at, &d); err != nil {
				return d, err
			}
		}
	}
	if err := removeTree(t.Root); err != nil {
		return d, fika.Wrap(fika.Storage, "discard", err)
	}
	return d, t.forget(ctx)
}

// removeTree removes a folder, also where its owner may not write.
func removeTree(root string) error {
	if err := os.RemoveAll(root); err == nil {
		return nil
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(root)
}

// forget removes the refs of a tree that is gone.
func (t Tree) forget(ctx context.Context) error {
	var b strings.Builder
	for _, below := range []string{t.Remote(), t.base(), t.offer(), "refs/fika/merge/" + t.Name()} {
		refs, err := t.refs(ctx, below)
		if err != nil {
			return err
		}
		for name := range refs {
			b.WriteString("delete " + below + name + "\n")
		}
	}
	return t.updateRefs(ctx, t.Project, b.String())
}

func (t Tree) refuse(own int, dirty bool) error {
	var has []string
	if own > 0 {
		has = append(has, fmt.Sprintf("%s that no other branch has", commits(own)))
	}
	if dirty {
		has = append(has, "changes that are not committed")
	}
	return fika.Errorf(fika.Conflict, "discard", "the worktree of %s has %s: %s shows them, %s brings them to you, %s throws them away",
		t.whose(), strings.Join(has, " and "), hint.AgentDiff.With(t.Name()), hint.AgentMerge.With(t.Name()), hint.AgentDiscardForce.With(t.Name()))
}

// keep gives a commit a ref, so that git does not collect it.
func (t Tree) keep(ctx context.Context, commit string, d *Discarded) error {
	d.Kept, d.Ref = commit, "refs/fika/discarded/"+t.Name()+"-"+commit[:12]
	_, err := git.Run(ctx, t.Project, "update-ref", "-m", hint.AgentDiscard.With(), d.Ref, commit)
	return err
}

// unmerged returns how many commits of the tree are on no branch and no tag of the
// person's, and behind none that has landed.
func (t Tree) unmerged(ctx context.Context, landed []string) (int, error) {
	args := []string{"rev-list", "--count", "--glob=" + t.Remote() + "*", "--not", "--branches", "--tags", "--exclude=fika/" + t.Name() + "/*", "--remotes"}
	for _, commit := range landed {
		if _, err := git.RunLine(ctx, t.Project, "cat-file", "-e", commit+"^{commit}"); err == nil {
			args = append(args, commit)
		}
	}
	n, err := git.RunLine(ctx, t.Project, args...)
	return number(n), err
}

func commits(n int) string {
	if n == 1 {
		return "1 commit"
	}
	return fmt.Sprintf("%d commits", n)
}
