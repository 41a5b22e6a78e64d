package daemon

import (
	"context"

	"fika"
	"fika/internal/repository/worktree"
	"fika/internal/worker"
)

// taskTrees removes the worktrees of tasks that have ended.
type taskTrees struct {
	hubHome
	kept map[fika.TaskNumber]int64 // versions of the tasks whose trees hold work that is nowhere else
}

// clear removes the worktree of each task that has ended: of one that was dropped, what is
// nowhere else is kept under a ref; of one that is done without having landed, the tree
// stays while it holds such work.
func (c taskTrees) clear(ctx context.Context, home, project string) error {
	trees, err := worktree.List(home, project)
	if err != nil {
		return err
	}
	for _, t := range trees {
		if t.Task == 0 || ctx.Err() != nil {
			continue
		}
		task, err := c.store.Task(ctx, t.Task)
		if err != nil || !task.State.Ended() || c.kept[t.Task] == task.Version {
			continue
		}
		if at, err := c.store.Working(ctx, t.Task); err != nil || len(at) > 0 {
			continue
		}
		conf, err := c.app.Config()
		if err != nil {
			return err
		}
		tips, err := c.store.LandedTips(ctx, fika.Offer{Task: t.Task, Into: conf.Landing.Into})
		if err != nil {
			return err
		}
		if settings, err := c.app.Settings(task.WorkerName, nil, true); task.WorkerName != "" && err == nil {
			t.Agent = task.WorkerName
			t = worker.NewToolbox(c.app, c.home.Folder(t.Agent), settings).ConfinedTree(t)
		}
		d, err := t.Discard(ctx, len(tips) > 0 || task.State == fika.TaskDropped, tips...)
		switch {
		case err == nil && d.Ref != "":
			c.app.Log().Info("the worktree of a task that has ended is removed; what had not landed is kept", "task", t.Task, "ref", d.Ref)
		case fika.IsKind(err, fika.Conflict):
			c.kept[t.Task] = task.Version
		case err != nil:
			c.kept[t.Task] = task.Version
			c.app.Log().Warn("the worktree of a task that has ended stays", "task", t.Task, "err", err)
		}
	}
	return nil
}
