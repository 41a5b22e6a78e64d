package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"fika"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/turn"
)

// maxHandedIn bounds how much of the changes a reviewer is shown, in bytes.
const maxHandedIn = 24 << 10

// taskWork is the task of the board that a turn works.
type taskWork struct {
	r *Runtime
	n fika.TaskNumber
}

// workOf returns the task that a request works; nil if it works none.
func (r *Runtime) workOf(q fika.Request) turn.Work {
	if q.Task == 0 {
		return nil
	}
	return taskWork{r, q.Task}
}

// Check implements [turn.Work]. A task that its worker gives back is not checked.
func (w taskWork) Check(ctx context.Context) (turn.WorkCheck, error) {
	t, err := w.r.worker.Store.Task(ctx, w.n)
	if crash.Without(crash.Check) {
		t.Check = ""
	}
	if fika.IsKind(err, fika.NotFound) || err == nil && (t.HandedBack != "" || t.State != fika.TaskClaimed && t.State != fika.TaskReview) {
		return turn.WorkCheck{}, nil
	}
	if err != nil {
		return turn.WorkCheck{}, err
	}
	c, err := w.r.worker.App.Config()
	return turn.WorkCheck{Command: t.Check, Timeout: c.Landing.Timeout, Rounds: c.Landing.MaxRounds, ByPerson: t.Rights == nil && t.Writer == fika.ByHuman && t.Taint == ""}, err
}

// Files implements [turn.Work]. Where others may change the files as well, a check is not
// held to leave them as they are.
func (w taskWork) Files(ctx context.Context) (string, error) {
	tree, ok := w.r.toolbox.worktree()
	if !ok || w.r.settings.Tools.Executor != "" {
		return "", nil
	}
	return w.r.toolbox.ConfinedTree(tree).Tracked(ctx)
}

// HandedIn implements [turn.Work].
func (w taskWork) HandedIn(ctx context.Context) (*store.HandedIn, error) {
	t, err := w.r.worker.Store.Task(ctx, w.n)
	if err != nil || t.Reviewer == "" {
		return nil, err
	}
	tree, ok := w.r.toolbox.worktree()
	if !ok {
		return nil, nil
	}
	changes, err := w.r.toolbox.ConfinedTree(tree).Diff(ctx, tree.Project)
	if err != nil || changes.Text == "" {
		return nil, err
	}
	sum := sha256.Sum256([]byte(changes.Text))
	out := &store.HandedIn{ID: hex.EncodeToString(sum[:]), Text: changes.Text}
	if len(out.Text) > maxHandedIn {
		out.Text = strings.ToValidUTF8(out.Text[:maxHandedIn], "") + "\n… (cut: git diff shows all)"
	}
	return out, nil
}

// readingOnly returns permissions without the tools that change files or hand work in.
func readingOnly(permissions []string) []string {
	return slices.DeleteFunc(slices.Clone(permissions), func(name string) bool { return name == "edit" || name == "create" || name == "offer" })
}
