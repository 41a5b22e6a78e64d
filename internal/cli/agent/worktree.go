package agent

import (
	"context"

	"fika/internal/cli/command"
	"fika/internal/repository/worktree"
)

// workOf returns the worktree of the agent called name, and the working tree that its
// work goes to. With idle it refuses an agent that is at work (Locked).
func workOf(ctx context.Context, e *command.Env, name string, idle bool) (t worktree.Tree, into string, err error) {
	c, err := e.Service(ctx)
	if err != nil {
		return t, "", err
	}
	if t, err = c.Agents.Worktree(ctx, name, idle); err != nil {
		return t, "", err
	}
	return t, t.MergeTarget(ctx, e.App().Dir()), nil
}
