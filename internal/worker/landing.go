package worker

import (
	"context"

	"fika"
	"fika/internal/repository/worktree"
	"fika/internal/store"
)

// followLanding brings the worktree of a turn to what has landed before it begins, if all
// that is in it has landed, too. Else the agent goes on where it is.
func (l *LiveRuntime) followLanding(ctx context.Context, r *Runtime, c store.Claimed) error {
	p := r.worker.App.Project()
	if p == nil || !r.settings.Worktree || c.Resumed {
		return nil
	}
	conf, err := r.worker.App.Config()
	if err != nil || conf.Landing.Check == "" {
		return err
	}
	landed, err := worktree.Target{Project: p.Main, Into: conf.Landing.Into}.Landed(ctx)
	own := r.opts.Task == 0
	if err != nil || landed == "" || own && landed == l.landed {
		return err
	}
	tree, ok := r.toolbox.worktree()
	if !ok {
		return nil
	}
	host, err := r.worker.Folder.Home.ID()
	if err != nil {
		return err
	}
	tips, err := r.worker.Store.LandedTips(ctx, fika.Offer{Agent: tree.Agent, Task: tree.Task, Into: conf.Landing.Into, Host: host})
	if err != nil {
		return err
	}
	there, err := r.toolbox.ConfinedTree(tree).Advance(ctx, landed, tips)
	if there && own {
		l.landed = landed
	}
	return err
}
