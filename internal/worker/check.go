package worker

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/repository/worktree"
	"fika/internal/sandbox/confine"
	"fika/internal/settings/folder"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/shell"
)

// Checks runs commands that say whether a commit is good. What was written by agents runs
// there, so it is confined as their commands are, and has nothing in common with another
// check: neither files nor caches. It is for one goroutine.
type Checks struct {
	App  *app.App
	Warn func(string)
}

// folder returns where checks are run.
func (c Checks) folder() (folder.Home, string, error) {
	h, err := c.App.Home()
	return h, filepath.Join(h.Root, "landing"), err
}

// Run checks a commit of a repository with a command, which has failed if it does not end
// with status 0 within longest. output is the end of what it printed. mark names its
// processes.
func (c Checks) Run(ctx context.Context, t worktree.Target, commit, command, mark string, longest time.Duration) (green bool, output string, err error) {
	h, dir, err := c.folder()
	if err != nil {
		return false, "", err
	}
	if err := h.EnsureDir(dir); err != nil {
		return false, "", err
	}
	c.Clean(mark)
	defer c.Clean("")
	tree := filepath.Join(dir, "tree")
	if err := t.Scratch(ctx, tree, commit); err != nil {
		return false, "", err
	}
	settings, err := c.App.PlainSettings("landing")
	if err != nil {
		return false, "", err
	}
	o := NewToolbox(c.App, h.Folder("landing"), settings).confinement()
	o.ReadOnly, o.Clone, o.Borrowed = false, tree, confine.Objects(t.Project)
	o.Paths.Own = BothNames(tree)
	o.Temp, o.Caches, o.Aside, o.Calls = filepath.Join(dir, "tmp"), filepath.Join(dir, "cache"), filepath.Join(dir, "set-aside"), filepath.Join(dir, "calls")
	args, err := json.Marshal(map[string]any{"command": command, "timeout_seconds": longest.Seconds()})
	if err != nil {
		return false, "", fika.Wrap(fika.Invalid, "check", err)
	}
	work := worktree.Tree{Root: tree, Project: t.Project}.Dir()
	bash := shell.New(shell.Options{Limits: tool.Limits{Head: 4 << 10, Tail: 24 << 10, SpoolMax: 1, Keys: c.App.Secrets()}, Children: c.App.Children()})
	r, err := bash.Call(ctx, tool.Call{Step: mark, Name: "bash", Args: args, Workspace: work, Confine: confine.New(o).Tools(work)})
	switch {
	case ctx.Err() != nil:
		return false, "", fika.Wrap(fika.Interrupted, "check", ctx.Err())
	case err != nil:
		return false, "", err
	case r.Denied:
		return false, "", fika.Errorf(fika.Denied, "check", "%s", r.Text)
	}
	return !r.IsError, r.Text, nil
}

// Clean ends the processes of a check that has been interrupted, and removes its files.
func (c Checks) Clean(mark string) {
	process.EndMarked(mark)
	_, dir, err := c.folder()
	if err != nil {
		return
	}
	undoLeft(filepath.Join(dir, "calls"), c.Warn)
	for _, name := range []string{"tree", "cache", "tmp"} {
		if err := worktree.RemoveScratch(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			c.Warn(err.Error())
		}
	}
}
