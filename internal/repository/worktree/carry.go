package worktree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/repository/git"
)

// PushRef returns the ref of a remote to which the owner of an epoch pushes what its tree
// holds, so that no two owners ever push to the same one.
func (t Tree) PushRef(e fika.Epoch) string {
	return "refs/fika/" + t.Name() + "/" + strconv.FormatInt(int64(e), 10)
}

// CarriedRef keeps, in the person's repository, what was pushed last, or fetched.
func (t Tree) CarriedRef() string { return "refs/fika/carried/" + t.Name() }

// PushRemote returns the remote to which the tree is pushed: origin, or the only one there is.
// It fails with Invalid if that is not clear.
func (t Tree) PushRemote(ctx context.Context) (string, error) {
	out, err := git.Run(ctx, t.Project, "remote")
	if err != nil {
		return "", err
	}
	switch names := lines(out); {
	case slices.Contains(names, "origin"):
		return "origin", nil
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", fika.Errorf(fika.Invalid, "worktree", "%s has no remote to which the work of %s could be pushed: git remote add origin URL", t.Project, t.whose())
	default:
		return "", fika.Errorf(fika.Invalid, "worktree", "%s has several remotes, and none is called origin", t.Project)
	}
}

// Carry brings all that the tree holds into the person's repository and returns a commit of it,
// under [Tree.CarriedRef]: its first parent is what is checked out, its files are all that git
// does not ignore. Its second parent is before, the last such commit, unless that is "": so a
// ref that names one only ever moves forward. It returns before if nothing has changed.
func (t Tree) Carry(ctx context.Context, before string) (string, error) {
	o, err := t.offers(ctx)
	if err != nil {
		return "", err
	}
	tree, err := git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", o.commit+"^{tree}")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree, "-p", o.head, "-m", "Files of " + t.whose() + " at the end of a turn"}
	there := false
	if before != "" {
		if there, err = t.HasCarried(ctx, before); err != nil {
			return "", err
		}
	}
	if there { // else the repository is not the one it was: its history begins anew
		was, err := git.RunLine(ctx, t.Project, "rev-parse", before+"^{tree}", before+"^1")
		if err != nil {
			return "", err
		}
		if was == tree+"\n"+o.head {
			return before, nil
		}
		args = append(args, "-p", before)
	}
	out, err := git.RunCall(ctx, git.Call{Dir: t.Project, Args: args, Env: t.IdentityEnv()})
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(out))
	_, err = git.Run(ctx, t.Project, "update-ref", t.CarriedRef(), commit)
	return commit, err
}

// HasCarried reports whether a commit that [Tree.Carry] has made somewhere is in the person's
// repository.
func (t Tree) HasCarried(ctx context.Context, commit string) (bool, error) {
	if !isObject(commit) {
		return false, fika.Errorf(fika.Invalid, "worktree", "%.80q is no commit", commit)
	}
	_, err := git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", commit+"^{commit}")
	if git.ExitStatus(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// KeepCarried makes the person's repository keep what was fetched to [Tree.CarriedRef], as far
// as a commit: what another owner has pushed on top of it is left out. It fails with Conflict if
// the commit is not behind what was fetched.
func (t Tree) KeepCarried(ctx context.Context, commit string) error {
	there, err := t.HasCarried(ctx, commit)
	if err != nil {
		return err
	}
	if !there {
		return fika.Errorf(fika.Conflict, "worktree", "what was pushed of %s does not contain %.12s", t.whose(), commit)
	}
	_, err = git.Run(ctx, t.Project, "update-ref", t.CarriedRef(), commit)
	return err
}

// Restore makes the tree, of which there must be none, from a commit that [Tree.Carry] has made:
// what was checked out is checked out, and what was not committed is so again.
func (t Tree) Restore(ctx context.Context, commit string) error {
	if t.IsMade() {
		return fika.Errorf(fika.Conflict, "worktree", "%s has a worktree already", t.whose())
	}
	if err := t.KeepCarried(ctx, commit); err != nil {
		return err
	}
	r, err := t.start(ctx)
	if err != nil {
		return err
	}
	at, err := git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", commit+"^1")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.Root), 0o700); err != nil {
		return fika.Wrap(fika.Storage, "make worktree", err)
	}
	temp, err := t.clone(ctx, r, at)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, args := range [][]string{{"read-tree", commit}, {"checkout-index", "-a", "-q"}, {"read-tree", "HEAD"}, {"update-index", "-q", "--refresh"}} {
		if _, err := git.Run(ctx, temp, args...); err != nil && (args[0] != "update-index" || git.ExitStatus(err) != 1) {
			return err
		}
	}
	if err := os.Rename(temp, t.Root); err != nil {
		return fika.Wrap(fika.Storage, "make worktree", err)
	}
	return nil
}
