package worker

import (
	"context"

	"fika"
	"fika/internal/store"
	"fika/internal/worktree"
)

// followLanding brings the agent's worktree to what has landed before a turn begins, if all
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
	if err != nil || landed == "" || landed == l.landed {
		return err
	}
	name := r.worker.Folder.Name
	tips, err := r.worker.Store.LandedTips(ctx, fika.Offer{Agent: name, Into: conf.Landing.Into})
	if err != nil {
		return err
	}
	tree, err := r.worker.App.Worktree(name)
	if err != nil {
		return err
	}
	there, err := r.toolbox.ConfinedTree(tree).Advance(ctx, landed, tips)
	if there {
		l.landed = landed
	}
	return err
}
