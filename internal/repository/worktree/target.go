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
	"fika/internal/text/hint"
)

// Target is a branch of the person's repository on which work lands. What has landed is
// the value of [Target.Ref], which is fika's; the branch itself follows only where nobody
// has it checked out.
type Target struct {
	Project string // the project's folder in the main working tree
	Into    string // name of the branch
}

// Ref returns the ref that names what has landed.
func (t Target) Ref() string { return "refs/remotes/fika/landing/" + t.Into }

// Short returns how a person names [Target.Ref] to git.
func (t Target) Short() string { return strings.TrimPrefix(t.Ref(), "refs/remotes/") }

func (t Target) branch() string { return "refs/heads/" + t.Into }

// pin is the ref that keeps the commits of an offer from being collected.
func (t Target) pin(n fika.OfferNumber, what string) string {
	return "refs/fika/land/" + strconv.FormatInt(int64(n), 10) + "/" + what
}

// commitOf returns the commit that a ref or an id names; "" if there is none.
func (t Target) commitOf(ctx context.Context, name string) (string, error) {
	at, err := git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", "--end-of-options", name+"^{commit}")
	if git.ExitStatus(err) == 1 || git.ExitStatus(err) == 128 {
		return "", nil
	}
	return at, err
}

// Holds reports whether a commit is in the repository.
func (t Target) Holds(ctx context.Context, commit string) (bool, error) {
	at, err := t.commitOf(ctx, commit)
	return at != "", err
}

// contains reports whether a commit has another one behind it, or is it.
func (t Target) contains(ctx context.Context, commit, other string) (bool, error) {
	_, err := git.Run(ctx, t.Project, "merge-base", "--is-ancestor", other, commit)
	if git.ExitStatus(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// Tip resolves what a person offers: the name of a branch, theirs first, then one that came
// home from an agent or a remote. It fails with NotFound.
func (t Target) Tip(ctx context.Context, branch string) (commit string, err error) {
	for _, below := range []string{"refs/heads/", "refs/remotes/"} {
		if commit, err = t.commitOf(ctx, below+branch); commit != "" || err != nil {
			return commit, err
		}
	}
	return "", fika.Errorf(fika.NotFound, "land", "branch %q not found", branch)
}

// Title returns the first line of a commit's message.
func (t Target) Title(ctx context.Context, commit string) (string, error) {
	return git.RunLine(ctx, t.Project, "show", "-s", "--format=%s", commit)
}

// Landed returns the value of [Target.Ref]; "" if nothing has landed yet.
func (t Target) Landed(ctx context.Context) (string, error) { return t.commitOf(ctx, t.Ref()) }

// Ground is what an offer is put on.
type Ground struct {
	Commit string
	Old    string // what [Target.Ref] is; "": nothing has landed yet
	// Again is what has landed and is not on the branch, which has gone another way: it is
	// part of Commit, put on the branch anew.
	Again string
}

// Ground returns what an offer is put on: what has landed if that contains the branch, the
// branch if that contains what has landed. If they have diverged, what has landed is put on
// the branch again. It fails with Invalid if there is no such branch, and with Conflict if
// the two do not fit together.
func (t Target) Ground(ctx context.Context) (g Ground, err error) {
	branch, err := t.commitOf(ctx, t.branch())
	if err != nil {
		return g, err
	}
	if branch == "" {
		return g, fika.Errorf(fika.Invalid, "land", "branch %q not found, on which work is to land ([landing] into)", t.Into)
	}
	g.Commit = branch
	if g.Old, err = t.Landed(ctx); err != nil || g.Old == "" {
		return g, err
	}
	over, err := t.contains(ctx, g.Old, branch)
	if err != nil {
		return g, err
	}
	if over {
		g.Commit = g.Old
		return g, nil
	}
	under, err := t.contains(ctx, branch, g.Old)
	if err != nil || under {
		return g, err
	}
	// What the branch has in another shape, as after a pull request, is there.
	rest, err := t.missing(ctx, branch, g.Old)
	if err != nil || len(rest) == 0 {
		return g, err
	}
	list, err := t.commitsOf(ctx, branch, g.Old, "")
	if err != nil {
		return g, err
	}
	put, err := t.pickAll(ctx, branch, slices.DeleteFunc(list, func(c string) bool { return !slices.Contains(rest, c) }), dressing{})
	if err != nil {
		return g, err
	}
	if len(put.Conflicts) > 0 {
		return g, fika.Errorf(fika.Conflict, "land", "%s has gone another way than what has landed, and both change %s: merge %s into it", t.Into, strings.Join(put.Conflicts, ", "), t.Short())
	}
	g.Commit, g.Again = put.Commit, g.Old
	return g, nil
}

// Keep keeps commits of an offer from being collected.
func (t Target) Keep(ctx context.Context, n fika.OfferNumber, what, commit string) error {
	_, err := git.Run(ctx, t.Project, "update-ref", "-m", "fika: offer "+strconv.FormatInt(int64(n), 10), t.pin(n, what), commit)
	return err
}

// Forget removes what [Target.Keep] keeps for an offer.
func (t Target) Forget(ctx context.Context, n fika.OfferNumber) error {
	for _, what := range []string{"tip", "new"} {
		if _, err := git.Run(ctx, t.Project, "update-ref", "-d", t.pin(n, what)); err != nil {
			return err
		}
	}
	return nil
}

// Move makes a commit what has landed, if that is still old ("": nothing). It fails with
// Conflict if it is not.
func (t Target) Move(ctx context.Context, old, new string) error {
	was := old
	if was == "" {
		was = strings.Repeat("0", len(new))
	}
	_, err := git.Run(ctx, t.Project, "update-ref", "--create-reflog", "-m", hint.Land.With(), t.Ref(), new, was)
	if err == nil {
		return nil
	}
	if now, failed := t.Landed(ctx); failed == nil && now != old {
		return fika.Errorf(fika.Conflict, "land", "%s was moved by somebody else", t.Short())
	}
	return err
}

// HasLanded reports whether a commit has landed.
func (t Target) HasLanded(ctx context.Context, commit string) (bool, error) {
	now, err := t.Landed(ctx)
	if err != nil || now == "" {
		return false, err
	}
	return t.contains(ctx, now, commit)
}

// Has reports whether the branch has a commit, or it has landed.
func (t Target) Has(ctx context.Context, commit string) (bool, error) {
	if has, err := t.HasLanded(ctx, commit); err != nil || has {
		return has, err
	}
	branch, err := t.commitOf(ctx, t.branch())
	if err != nil || branch == "" {
		return false, err
	}
	return t.contains(ctx, branch, commit)
}

// Follow brings the branch to what has landed, if nobody has it checked out and it has gone
// no other way. moved reports whether it did. It leaves the moving to git fetch, which
// refuses a branch that any working tree has checked out or is rebasing.
func (t Target) Follow(ctx context.Context) (moved bool, err error) {
	landed, err := t.Landed(ctx)
	if err != nil || landed == "" {
		return false, err
	}
	branch, err := t.commitOf(ctx, t.branch())
	if err != nil || branch == landed || branch == "" {
		return false, err
	}
	if dir, err := t.CheckedOut(ctx); err != nil || dir != "" {
		return false, err
	}
	if over, err := t.contains(ctx, landed, branch); err != nil || !over {
		return false, err
	}
	_, err = git.Run(ctx, t.Project, "-c", "protocol.file.allow=always", "-c", "fetch.writeCommitGraph=false", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--no-auto-maintenance", "--", ".", t.Ref()+":"+t.branch())
	now, failed := t.commitOf(ctx, t.branch())
	if failed == nil && now == branch { // git refuses: somebody works on it
		return false, nil
	}
	return err == nil, err
}

// CheckedOut returns the root of the working tree that has the branch checked out; "" if none
// has.
func (t Target) CheckedOut(ctx context.Context) (string, error) {
	out, err := git.Run(ctx, t.Project, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return "", err
	}
	dir := ""
	for _, line := range strings.Split(string(out), "\x00") {
		if at, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = at
		}
		if line != "branch "+t.branch() {
			continue
		}
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
	}
	return "", nil
}

// Scratch makes a clone that borrows the repository's objects, in a folder that it removes
// first, with the files of a commit. It holds no hooks, submodules or remotes.
func (t Target) Scratch(ctx context.Context, dir, commit string) error {
	r, err := git.Find(ctx, t.Project)
	if err != nil {
		return err
	}
	if err := removeTree(dir); err != nil {
		return fika.Wrap(fika.Storage, "land", err)
	}
	config, partial, err := settingsOf(ctx, t.Project)
	if err != nil {
		return err
	}
	if partial != "" {
		return fika.Errorf(fika.Invalid, "land", "%s is a partial clone (%s), whose objects are not all here: git fetch --refetch --no-filter", t.Project, partial)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fika.Wrap(fika.Storage, "land", err)
	}
	if err := fill(ctx, r, t.Project, dir, "landing", config); err != nil {
		return err
	}
	if _, err := git.Run(ctx, dir, "update-ref", "refs/heads/landing", commit); err != nil {
		return err
	}
	return checkOut(ctx, dir)
}

// RemoveScratch removes what [Target.Scratch] has made.
func RemoveScratch(dir string) error {
	return fika.Wrap(fika.Storage, "land", removeTree(dir))
}

// Identity returns who the person is to git in this repository. It fails with Invalid if git
// does not know.
func (t Target) Identity(ctx context.Context) (name, mail string, err error) {
	out, err := git.RunLine(ctx, t.Project, "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
	if err != nil {
		return "", "", fika.Errorf(fika.Invalid, "land", "git does not know who you are in %s: git config --global user.name and user.email say it", filepath.Clean(t.Project))
	}
	name, rest, _ := strings.Cut(out, " <")
	mail, _, _ = strings.Cut(rest, ">")
	return name, mail, nil
}

// Diff returns what work changes since the last commit that it has in common with another
// one: the files with counts of lines, and the lines, unless those are too many.
func (t Target) Diff(ctx context.Context, on, tip string) (string, error) {
	args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--stat", "--patch", on + "..." + tip}
	out, err := git.Run(ctx, t.Project, args...)
	if err != nil && ctx.Err() == nil {
		out, err = git.Run(ctx, t.Project, slices.DeleteFunc(args, func(a string) bool { return a == "--patch" })...)
	}
	return string(out), err
}
