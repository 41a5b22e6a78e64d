package worktree

import (
	"context"
	"slices"
	"strings"

	"fika"
	"fika/internal/repository/git"
	"fika/internal/text/hint"
)

// Merged is the result of a merge.
type Merged struct {
	Into      string   // the working tree that was merged into
	Commit    string   // the commit checked out there afterwards
	Committed bool     // the agent's uncommitted work was committed first
	Nothing   bool     // there was nothing to merge
	Conflicts []string // conflicting files; if there are any, nothing was merged
	Text      string   // the conflicting lines of those files
	Asks      []Risk   // what needs a person's yes first; if there is any, nothing was merged
	ByHand    string   // the command with which the person's own git merges, because a program of theirs takes part; nothing was merged
	Why       string   // of ByHand
}

// Merge brings the agent's work into the working tree into. It first commits the
// agent's uncommitted work, on the agent's branch and in its name. If both have
// changed the same lines nothing is merged, and the result names the files; so it is if
// the work changes paths that need a person's yes and are not among those accepted. A
// person's uncommitted changes stay; a merge that would touch them fails with Conflict.
// Afterwards the agent's tree is fast-forwarded to the merge if possible.
func (t Tree) Merge(ctx context.Context, into string, accepted []string) (Merged, error) {
	m := Merged{Into: into}
	s, err := t.State(ctx, into)
	if err != nil {
		return m, err
	}
	if s.Head, err = t.whole(ctx, s.Head, s.Open, s.Dirty, ""); err != nil {
		return m, err
	}
	m.Committed = s.Dirty
	if m.Commit, err = head(ctx, into); err != nil {
		return m, err
	}
	if s.Head == s.Base {
		m.Nothing = true
		return m, nil
	}
	result, conflicts, text, err := tryMerge(ctx, into, m.Commit, s.Head)
	if err != nil || len(conflicts) > 0 {
		m.Conflicts, m.Text = conflicts, text
		return m, err
	}
	changes, err := changed(ctx, into, m.Commit, result)
	if err != nil {
		return m, err
	}
	if m.Asks, err = risks(ctx, into, changes); err != nil {
		return m, err
	}
	if m.Asks = slices.DeleteFunc(m.Asks, func(r Risk) bool { return slices.Contains(accepted, r.Path) }); len(m.Asks) > 0 {
		return m, nil
	}
	message := "Merge the work of " + t.whose()
	if m.Why, err = ownPrograms(ctx, into, changes); err != nil {
		return m, err
	} else if m.Why != "" {
		m.ByHand, err = t.prepare(ctx, into, m.Commit, s.Head, result, message)
		return m, err
	}
	if _, err := git.Run(ctx, into, "merge", "-q", "--no-edit", "-m", message, s.Head); err != nil {
		return m, &fika.Error{Kind: fika.Conflict, Op: "merge", Msg: "nothing of " + t.whose() + " was merged into " + into, Err: err}
	}
	if m.Commit, err = head(ctx, into); err != nil {
		return m, err
	}
	return m, t.follow(ctx, m.Commit)
}

// whole commits what is not committed, and returns the commit with all of the agent's work.
// It fails with Conflict while git is in the middle of something there.
func (t Tree) whole(ctx context.Context, head, open string, dirty bool, message string) (string, error) {
	switch {
	case open == "conflicts":
		return "", fika.Errorf(fika.Conflict, "merge", "the worktree of %s has conflicts that are not resolved: git status in %s shows them", t.whose(), hint.AgentShell.With(t.Name()))
	case open == "operation":
		return "", fika.Errorf(fika.Conflict, "merge", "git is in the middle of something in the worktree of %s: git status in %s says what", t.whose(), hint.AgentShell.With(t.Name()))
	case dirty:
		return t.commit(ctx, message)
	}
	return head, nil
}

// Whole brings all of the agent's work home as a commit, and returns that: what is not
// committed is committed first, on the agent's branch and in its name, with a message; "":
// that it is the agent's work. Its errors are those of [Tree.Merge].
func (t Tree) Whole(ctx context.Context, message string) (commit string, committed bool, err error) {
	o, err := t.offers(ctx)
	if err != nil {
		return "", false, err
	}
	committed = o.commit != o.head
	commit, err = t.whole(ctx, o.head, o.open, committed, message)
	return commit, committed, err
}

// follow fast-forwards the agent's tree to a commit of the person's, if that is possible.
func (t Tree) follow(ctx context.Context, commit string) error {
	refs, err := t.refs(ctx, t.base())
	if err != nil {
		return err
	}
	refs["merged"] = commit
	if err := t.keepBorrowed(ctx, refs); err != nil {
		return err
	}
	// The work is merged whether or not the agent's tree can follow.
	if _, err := t.inside(ctx, `git merge -q --ff-only "$1"`, commit); err == nil {
		_ = t.Import(ctx)
	}
	return nil
}

// advance is a script that moves the tree to a commit, the first argument, if it is on the
// branch of the second and holds nothing that is not in that commit: no change that is not
// committed, and no commit but those behind it and those of the other arguments, which have
// landed. It prints where the tree is then.
const advance = `set -e
new=$1 branch=$2
shift 2
head=$(git rev-parse --verify -q 'HEAD^{commit}')
if [ "$head" != "$new" ] && [ "$(git symbolic-ref -q HEAD)" = "refs/heads/$branch" ] && [ -z "$(git status --porcelain | head -c 1)" ]; then
	git merge-base --is-ancestor "$head" "$new" && set -- "$head"
	for landed in "$@"; do
		if [ "$landed" = "$head" ]; then git reset -q --keep "$new"; break; fi
	done
fi
git rev-parse --verify -q 'HEAD^{commit}'`

// Advance moves the tree to a commit of the person's, where work lands, if nothing of the
// agent's is lost by that: landed are commits of the agent's that have landed. It reports
// whether the tree is at the commit then.
func (t Tree) Advance(ctx context.Context, commit string, landed []string) (there bool, err error) {
	if err := t.check(ctx); err != nil {
		return false, err
	}
	refs, err := t.refs(ctx, t.base())
	if err != nil {
		return false, err
	}
	refs["merged"] = commit
	if err := t.keepBorrowed(ctx, refs); err != nil {
		return false, err
	}
	at, err := t.inside(ctx, advance, append([]string{commit, t.Branch()}, landed...)...)
	if err == nil {
		err = t.Import(ctx)
	}
	return at == commit, err
}

// prepare makes the merge a commit without touching any file, and returns the command
// with which the person's own git checks it out.
func (t Tree) prepare(ctx context.Context, into, ours, theirs, tree, message string) (string, error) {
	ref := "refs/fika/merge/" + t.Name()
	commit := theirs
	if _, err := git.Run(ctx, into, "merge-base", "--is-ancestor", ours, theirs); err != nil {
		if commit, err = git.RunLine(ctx, into, "commit-tree", tree, "-p", ours, "-p", theirs, "-m", message); err != nil {
			return "", err
		}
	}
	_, err := git.Run(ctx, into, "update-ref", ref, commit)
	return "git merge --ff-only " + strings.TrimPrefix(ref, "refs/"), err
}

// commit commits everything in the tree in the agent's name, and returns the commit as it
// came home.
func (t Tree) commit(ctx context.Context, message string) (string, error) {
	if message == "" {
		message = "Work of @" + string(t.Agent)
	}
	if _, err := t.inside(ctx, `git -c advice.addEmbeddedRepo=false add -A && git commit -q --no-verify -m "$1"`, message); err != nil {
		return "", err
	}
	if err := t.Import(ctx); err != nil {
		return "", err
	}
	refs, err := t.refs(ctx, t.Remote())
	return refs["HEAD"], err
}

// IdentityEnv returns the environment variables that make commits the agent's.
func (t Tree) IdentityEnv() []string {
	name, mail := string(t.Agent), string(t.Agent)+"@fika.invalid"
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail}
}

// tryMerge merges two commits without touching any file, and returns the tree that comes
// of it, or the paths that conflict and their conflicting lines.
func tryMerge(ctx context.Context, dir, ours, theirs string) (tree string, conflicts []string, text string, err error) {
	out, err := git.Run(ctx, dir, "merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", ours, theirs)
	switch git.ExitStatus(err) {
	case 0, 1:
	default:
		return "", nil, "", err
	}
	parts := lines(out)
	if err == nil && len(parts) > 0 {
		return parts[0], nil, "", nil
	}
	if len(parts) < 2 {
		return "", nil, "", fika.Errorf(fika.Failed, "merge", "git does not say what conflicts")
	}
	marks := strings.NewReplacer("<<<<<<< "+ours, "<<<<<<< yours", ">>>>>>> "+theirs, ">>>>>>> the agent's")
	var b strings.Builder
	for _, path := range parts[1:] {
		content, err := git.Run(ctx, dir, "cat-file", "blob", parts[0]+":"+path)
		if err == nil { // it may exist on one side and be deleted on the other
			b.WriteString(conflictsIn(path, marks.Replace(string(content))))
		}
	}
	return parts[0], parts[1:], b.String(), nil
}

// maxShown is the most lines shown of one file's conflicts.
const maxShown = 60

// conflictsIn returns the lines between conflict marks.
func conflictsIn(path, content string) string {
	var b strings.Builder
	inside, shown := false, 0
	for _, line := range strings.Split(content, "\n") {
		inside = inside || strings.HasPrefix(line, "<<<<<<< ")
		if !inside {
			continue
		}
		if shown++; shown > maxShown {
			b.WriteString("  …\n")
			break
		}
		b.WriteString("  " + line + "\n")
		inside = !strings.HasPrefix(line, ">>>>>>> ")
	}
	return path + "\n" + b.String()
}
