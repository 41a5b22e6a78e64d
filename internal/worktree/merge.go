package worktree

import (
	"context"
	"strings"

	"fika"
	"fika/internal/git"
)

// Merged is the result of a merge.
type Merged struct {
	Into      string   // the working tree that was merged into
	Commit    string   // the commit checked out there afterwards
	Committed bool     // the agent's uncommitted work was committed first
	Nothing   bool     // there was nothing to merge
	Conflicts []string // conflicting files; if there are any, nothing was merged
	Text      string   // the conflicting lines of those files
}

// Merge brings the agent's work into the working tree into. It first commits the
// agent's uncommitted work, on the agent's branch and in its name. If both have
// changed the same lines nothing is merged, and the result names the files. A person's
// uncommitted changes stay; a merge that would touch them fails with Conflict.
// Afterwards the agent's tree is fast-forwarded to the merge if possible.
func (t Tree) Merge(ctx context.Context, into string) (Merged, error) {
	m := Merged{Into: into}
	s, err := t.State(ctx, into)
	if err != nil {
		return m, err
	}
	if err := t.checkFinished(ctx); err != nil {
		return m, err
	}
	if s.Dirty {
		if s.Head, err = t.commit(ctx); err != nil {
			return m, err
		}
		m.Committed = true
	}
	if m.Commit, err = head(ctx, into); err != nil {
		return m, err
	}
	if s.Head == s.Base {
		m.Nothing = true
		return m, nil
	}
	if m.Conflicts, m.Text, err = tryMerge(ctx, into, m.Commit, s.Head); err != nil || len(m.Conflicts) > 0 {
		return m, err
	}
	if _, err := git.Run(ctx, into, "merge", "-q", "--no-edit", "-m", "Merge the work of @"+string(t.Agent), s.Head); err != nil {
		return m, &fika.Error{Kind: fika.Conflict, Op: "merge", Msg: "nothing of @" + string(t.Agent) + " was merged into " + into, Err: err}
	}
	if m.Commit, err = head(ctx, into); err != nil {
		return m, err
	}
	// The work is merged whether or not the agent's tree can follow.
	_, _ = git.Run(ctx, t.Root, "merge", "-q", "--ff-only", m.Commit)
	return m, nil
}

// checkFinished refuses a tree with unresolved conflicts or an unfinished git
// operation.
func (t Tree) checkFinished(ctx context.Context) error {
	out, err := git.Run(ctx, t.Root, "ls-files", "-u")
	if err != nil {
		return err
	}
	if len(out) > 0 {
		return fika.Errorf(fika.Conflict, "merge", "the worktree of @%s has conflicts that are not resolved: git -C %s status shows them", t.Agent, t.Root)
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"} {
		if _, err := git.RunLine(ctx, t.Root, "rev-parse", "--verify", "-q", name); err == nil {
			return fika.Errorf(fika.Conflict, "merge", "git is in the middle of something in the worktree of @%s: git -C %s status says what", t.Agent, t.Root)
		}
	}
	return nil
}

// commit commits everything in the tree in the agent's name, and returns the commit.
func (t Tree) commit(ctx context.Context) (string, error) {
	if _, err := git.Run(ctx, t.Root, "-c", "advice.addEmbeddedRepo=false", "add", "-A"); err != nil {
		return "", err
	}
	call := git.Call{Dir: t.Root, Args: []string{"commit", "-q", "--no-verify", "-m", "Work of @" + string(t.Agent)}, Env: t.IdentityEnv()}
	if _, err := git.RunCall(ctx, call); err != nil {
		return "", err
	}
	return head(ctx, t.Root)
}

// IdentityEnv returns the environment variables that make commits the agent's.
func (t Tree) IdentityEnv() []string {
	name, mail := string(t.Agent), string(t.Agent)+"@fika.invalid"
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail}
}

// tryMerge merges two commits without touching any file, and returns the paths that
// conflict and their conflicting lines.
func tryMerge(ctx context.Context, dir, ours, theirs string) (conflicts []string, text string, err error) {
	out, err := git.Run(ctx, dir, "merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", ours, theirs)
	switch git.ExitStatus(err) {
	case 0:
		return nil, "", nil
	case 1:
	default:
		return nil, "", err
	}
	parts := lines(out)
	if len(parts) < 2 {
		return nil, "", fika.Errorf(fika.Failed, "merge", "git does not say what conflicts")
	}
	marks := strings.NewReplacer("<<<<<<< "+ours, "<<<<<<< yours", ">>>>>>> "+theirs, ">>>>>>> the agent's")
	var b strings.Builder
	for _, path := range parts[1:] {
		content, err := git.Run(ctx, dir, "cat-file", "blob", parts[0]+":"+path)
		if err == nil { // it may exist on one side and be deleted on the other
			b.WriteString(conflictsIn(path, marks.Replace(string(content))))
		}
	}
	return parts[1:], b.String(), nil
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
