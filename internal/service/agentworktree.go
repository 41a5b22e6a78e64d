package service

import (
	"context"
	"strings"

	"fika"
	"fika/internal/config"
	"fika/internal/worker"
	"fika/internal/worktree"
)

// Worktree returns the git worktree of an agent, given the name that a person typed,
// whether or not the worktree exists. With idle it returns Locked if the agent is at
// work, because the agent would keep working in a worktree that is being merged or
// removed. It returns NotFound if the home does not belong to a project.
func (s *Agents) Worktree(ctx context.Context, name string, idle bool) (worktree.Tree, error) {
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
	return s.treeOf(row.Name, settings)
}

// treeOf returns the worktree of an agent with settings. It fails with NotFound if the home
// does not belong to a project.
func (s *Agents) treeOf(name fika.AgentName, settings config.Settings) (worktree.Tree, error) {
	t, err := s.c.app.Worktree(name)
	if err != nil {
		return t, fika.Errorf(fika.NotFound, "", "@%s has no worktree: this home is no project's", name)
	}
	h, err := s.c.app.Home()
	if err != nil {
		return t, err
	}
	return worker.NewToolbox(s.c.app, h.Folder(name), settings).ConfinedTree(t), nil
}

// checkIdle returns Locked if the agent is in the middle of a turn.
func (s *Agents) checkIdle(ctx context.Context, name fika.AgentName) error {
	v, err := s.View(ctx, string(name))
	if err != nil || len(v.Running)+len(v.Suspended) == 0 {
		return err
	}
	ids := []string{}
	for _, r := range append(v.Running, v.Suspended...) {
		ids = append(ids, string(r.ID))
	}
	return fika.Errorf(fika.Locked, "", "@%s is in the middle of a turn in its worktree; fika request wait %s, then say it again", name, strings.Join(ids, " "))
}
