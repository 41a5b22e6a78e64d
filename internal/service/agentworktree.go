package service

import (
	"context"
	"fmt"
	"strings"

	"fika"
	"fika/internal/repository/worktree"
	"fika/internal/settings/config"
	"fika/internal/text/hint"
	"fika/internal/worker"
)

// Worktree returns the git worktree of an agent or a task (task-12), given the name that a
// person typed, whether or not the worktree exists. With idle it returns Locked if the agent is at
// work, because the agent would keep working in a worktree that is being merged or
// removed. It returns NotFound if the home does not belong to a project.
func (s *Agents) Worktree(ctx context.Context, name string, idle bool) (worktree.Tree, error) {
	if n := worktree.ParseTask(name); n > 0 {
		return s.taskTree(ctx, n, idle)
	}
	row, err := s.FindLone(ctx, name)
	if err != nil {
		return worktree.Tree{}, err
	}
	if _, err := s.c.app.Worktree(row.Name); err == nil && idle {
		if err = s.checkIdle(ctx, row.Name); err != nil {
			return worktree.Tree{}, err
		}
	}
	settings, err := s.c.app.Settings(row.Name, nil, true)
	if err != nil {
		return worktree.Tree{}, err
	}
	return s.treeOf(row.Name, settings, 0)
}

// taskTree returns the worktree of a task, as whoever worked it last has it. With idle it
// returns Locked if a request that works it has not ended.
func (s *Agents) taskTree(ctx context.Context, n fika.TaskNumber, idle bool) (t worktree.Tree, err error) {
	task, err := s.c.store.Task(ctx, n)
	switch {
	case err != nil:
		return t, err
	case task.WorkerName == "":
		return t, fika.Errorf(fika.NotFound, "", "task %d has no worktree: no agent that there is has worked it", n)
	}
	if going, err := s.c.store.Working(ctx, n); err != nil || idle && len(going) > 0 {
		return t, orLocked(err, fmt.Sprintf("task %d is being worked", n), going)
	}
	settings, err := s.c.app.Settings(task.WorkerName, nil, true)
	if err != nil {
		return t, err
	}
	t, err = s.treeOf(task.WorkerName, settings, n)
	return t, err
}

// orLocked returns err or, without one, that requests have to end first.
func orLocked(err error, what string, going []string) error {
	if err != nil {
		return err
	}
	return fika.Errorf(fika.Locked, "", "%s in its worktree; %s, then run this again", what, hint.RequestWait.With(strings.Join(going, " ")))
}

// treeOf returns the worktree in which an agent with settings works a task, or its own (0).
// It fails with NotFound if the home does not belong to a project.
func (s *Agents) treeOf(name fika.AgentName, settings config.Settings, task fika.TaskNumber) (worktree.Tree, error) {
	t, err := s.c.app.Worktree(name)
	if err != nil {
		return t, fika.Errorf(fika.NotFound, "", "@%s has no worktree (worktrees need a project: %s)", name, hint.Init)
	}
	h, err := s.c.app.Home()
	if err != nil {
		return t, err
	}
	return worker.NewToolbox(s.c.app, h.Folder(name), settings).ConfinedTree(t.ForTask(task)), nil
}

// checkIdle returns Locked if the agent is in the middle of a turn.
func (s *Agents) checkIdle(ctx context.Context, name fika.AgentName) error {
	v, err := s.View(ctx, string(name))
	if err != nil || len(v.Running)+len(v.Suspended) == 0 {
		return err
	}
	ids := []string{}
	for _, r := range append(v.Running, v.Suspended...) {
		if r.Task == 0 { // else it works in the tree of its task
			ids = append(ids, string(r.ID))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return orLocked(nil, "@"+string(name)+" is in the middle of a turn", ids)
}
