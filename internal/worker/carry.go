package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/repository/worktree"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/tool/note"
	"fika/internal/turn"
)

// carryTime bounds a push at the end of a turn, for which its outcome waits, and a fetch.
const carryTime = time.Minute

// onGit reports whether an agent's worktree is pushed after each turn.
func (w *Worker) onGit() bool {
	c, err := w.App.Config()
	if err != nil {
		return false
	}
	e := c.Agent(w.Agent.Name)
	return e != nil && e.WorkspaceOn == config.OnGit
}

// carrier keeps the worktree of a runtime where other hosts find it.
type carrier struct {
	r    *Runtime
	tree worktree.Tree // confined
}

// carrier returns what pushes the files of the turns; nil: nothing does.
func (r *Runtime) carrier() *carrier {
	tree, ok := r.toolbox.worktree()
	if !ok || r.opts.Review || !r.worker.onGit() {
		return nil
	}
	return &carrier{r, r.toolbox.ConfinedTree(tree)}
}

// outcomes is a store that pushes the files of a turn before it stores the outcome: what is
// known as done is not lost with its host, unless the row says so.
type outcomes struct {
	turn.Outcomes
	files *carrier
}

// Finish implements [turn.Outcomes].
func (o outcomes) Finish(ctx context.Context, f store.Fence, fin store.Finish) (store.Finished, error) {
	o.files.push(ctx)
	return o.Outcomes.Finish(ctx, f, fin)
}

// turnStore returns the store for a turn.
func (r *Runtime) turnStore() turn.Store {
	s := r.opts.Store
	if c := r.carrier(); c != nil {
		s.Outcomes = outcomes{s.Outcomes, c}
	}
	return s
}

// push pushes all that is in the tree now, and stores what became of that. It reports trouble
// and never fails: the turn goes on.
func (c *carrier) push(ctx context.Context) {
	w := c.r.worker
	w.pushing.Lock()
	defer w.pushing.Unlock()
	if err := c.pushOnce(context.WithoutCancel(ctx)); err != nil {
		c.r.opts.Warn(fmt.Sprintf("where the files of @%s are could not be stored: %v", w.Agent.Name, err))
	}
}

func (c *carrier) pushOnce(ctx context.Context) error {
	w := c.r.worker
	row, now, err := w.Store.WorkspaceOf(ctx, w.Agent.ID, c.tree.Task)
	if err != nil {
		return err
	}
	if row.Home, err = w.Folder.Home.ID(); err != nil {
		return err
	}
	before, ref, hash := row.Unpushed, row.Ref, row.Hash
	commit, err := c.tree.Carry(ctx, row.Hash)
	if err == nil && (commit != row.Hash || row.Ref == "") {
		row.Ref = c.tree.PushRef(w.Lease.Epoch)
		err = Carrying{App: w.App, Home: row.Home, Tree: c.tree}.Push(ctx, commit, row.Ref)
	}
	row.Unpushed = ""
	if err == nil {
		row.Hash, row.Pushed = commit, now
	} else {
		row.Unpushed = "not pushed: " + firstLine(err.Error())
	}
	if row.Unpushed != "" && row.Unpushed != before {
		c.r.opts.Warn(fmt.Sprintf("what @%s has done is on this host alone: %s", w.Agent.Name, row.Unpushed))
	}
	if err := w.Store.KeepWorkspace(ctx, w.Lease, row); err != nil || ref == "" || ref == row.Ref || row.Unpushed != "" {
		return err
	}
	return Carrying{App: w.App, Home: row.Home, Tree: c.tree}.Drop(ctx, hash, ref)
}

// retry pushes what the last turn could not.
func (c *carrier) retry(ctx context.Context) error {
	row, _, err := c.r.worker.Store.WorkspaceOf(ctx, c.r.worker.Agent.ID, c.tree.Task)
	if err == nil && row.Unpushed != "" {
		c.push(ctx)
	}
	return err
}

// open makes the tree from what was pushed last if the files were elsewhere since they were
// here. What is here then is kept in a ref of its own and never used.
func (c *carrier) open(ctx context.Context) error {
	w := c.r.worker
	row, now, err := w.Store.WorkspaceOf(ctx, w.Agent.ID, c.tree.Task)
	if err != nil {
		return err
	}
	home, err := w.Folder.Home.ID()
	if err != nil || row.Home == "" || row.Home == home || row.Hash == "" {
		return err
	}
	if err := (Carrying{App: w.App, Home: home, Tree: c.tree}).Fetch(ctx, row); err != nil {
		return err
	}
	if c.tree.IsMade() {
		d, err := c.tree.Discard(ctx, true, row.Hash)
		if err != nil {
			return err
		}
		if d.Ref != "" {
			c.r.opts.Warn(fmt.Sprintf("what @%s had here, and another host did not go on with, is kept in %s", w.Agent.Name, d.Ref))
		}
	}
	if err := c.tree.Restore(ctx, row.Hash); err != nil {
		return err
	}
	row.Home, row.Taken = home, now
	return w.Store.KeepWorkspace(ctx, w.Lease, row)
}

// begin says in a turn that goes on from another host which of its calls have changed files
// there that are not here, and pushes the files of an agent that has never been pushed.
func (c *carrier) begin(ctx context.Context, q store.Claimed) error {
	w := c.r.worker
	row, _, err := w.Store.WorkspaceOf(ctx, w.Agent.ID, c.tree.Task)
	if err != nil {
		return err
	}
	if row.Hash == "" {
		c.push(ctx)
	}
	if !q.Resumed || !row.Taken.After(row.Pushed) {
		return nil
	}
	entries, err := w.Store.OfRequest(ctx, q.Request.ID)
	if err != nil {
		return err
	}
	steps, err := w.Store.Steps(ctx, q.Request.ID)
	if err != nil {
		return err
	}
	text := leftBehind(row, steps, entries)
	if text == "" || slices.ContainsFunc(entries, func(e fika.Entry) bool { return e.Meta.Kind == fika.FilesNotice && e.At.After(row.Taken) }) {
		return nil
	}
	_, err = w.Store.TellFiles(ctx, q.Fence, text)
	return err
}

// mostNamed bounds how many calls a notice names, and maxNamed each of them, in bytes.
const (
	mostNamed = 20
	maxNamed  = 120
)

// leftBehind says which calls since the last push may have changed files; "": none.
func leftBehind(row store.Workspace, steps []fika.Step, entries []fika.Entry) string {
	said := map[fika.EntryID]string{}
	for _, e := range entries {
		said[e.ID] = e.Content
	}
	var named []string
	more := 0
	for _, s := range steps {
		if s.Kind != fika.ToolStep || s.Effect == fika.Pure || s.StartedAt.IsZero() || s.StartedAt.Before(row.Pushed) || s.StartedAt.After(row.Taken) || writesNoFile(s.Tool) {
			continue
		}
		if len(named) == mostNamed {
			more++
			continue
		}
		args := said[s.CallEntry]
		if len(args) > maxNamed {
			args = strings.ToValidUTF8(args[:maxNamed], "") + "…"
		}
		named = append(named, s.Tool+" "+args)
	}
	if len(named) == 0 {
		return ""
	}
	text := "this turn continues on another host, from the files as they were last pushed"
	if !row.Pushed.IsZero() {
		text += " (" + row.Pushed.UTC().Format(time.RFC3339) + ")"
	}
	text += "; what these calls have changed in files since then is not here:\n- " + strings.Join(named, "\n- ")
	if more > 0 {
		text += fmt.Sprintf("\n- and %d more", more)
	}
	return text
}

// writesNoFile reports whether a tool changes rows and notes alone.
func writesNoFile(tool string) bool {
	notes := []string{"update_" + string(note.Todos), "update_" + string(note.Goals), "update_" + string(note.Reflection)}
	return slices.Contains(tableTools(), tool) || slices.Contains(notes, tool)
}

// Carrying brings commits of a tree to the remote of its repository and back, with the person's
// own git, which runs no hook and asks nobody.
type Carrying struct {
	App  *app.App
	Home string // its id
	Tree worktree.Tree
}

// Push pushes a commit to a ref, which only moves forward.
func (c Carrying) Push(ctx context.Context, commit, ref string) error {
	return c.run(ctx, func(p Pushes, remote string) (worktree.Pushed, error) {
		return p.pushTo(ctx, worktree.Push{Remote: remote, Branch: ref, Commit: commit}, ref)
	})
}

// Drop removes a ref to which an earlier owner pushed, if it still names the commit that a row
// said, which is behind what was pushed since. Another commit there is nobody's to remove.
func (c Carrying) Drop(ctx context.Context, commit, ref string) error {
	remote, err := c.Tree.PushRemote(ctx)
	if err == nil {
		_, err = c.pushes().drop(ctx, remote, commit, ref) // a remote that keeps it has it for longer
	}
	return err
}

// Fetch fetches what a row says was pushed, unless it is here. Whatever else the ref has is left
// out.
func (c Carrying) Fetch(ctx context.Context, row store.Workspace) error {
	if there, err := c.Tree.HasCarried(ctx, row.Hash); err != nil || there {
		return err
	}
	err := c.run(ctx, func(p Pushes, remote string) (worktree.Pushed, error) {
		return p.fetch(ctx, remote, row.Ref, c.Tree.CarriedRef())
	})
	if err != nil {
		return err
	}
	return c.Tree.KeepCarried(ctx, row.Hash)
}

func (c Carrying) run(ctx context.Context, do func(p Pushes, remote string) (worktree.Pushed, error)) error {
	remote, err := c.Tree.PushRemote(ctx)
	if err != nil {
		return err
	}
	done, err := do(c.pushes(), remote)
	if err == nil && !done.OK {
		err = fika.Errorf(fika.Failed, "", "%s", done.Reason)
	}
	return err
}

func (c Carrying) pushes() Pushes {
	return Pushes{App: c.App, Project: c.Tree.Project, Mark: c.Home + "-carry-" + c.Tree.Name() + "/1", Longest: carryTime}
}
