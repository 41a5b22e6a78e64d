package agent

import (
	"context"
	"strings"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/worktree"
)

// workOf finds the worktree of an agent that a person named, and the working
// tree that its work goes to. With idle an agent that is at work is refused
// (Locked): it would go on in what is being merged or removed.
func workOf(ctx context.Context, e *command.Env, name string, idle bool) (t worktree.Tree, into string, err error) {
	c, err := e.Client(ctx)
	if err != nil {
		return t, "", err
	}
	row, err := c.Agents.FindLone(ctx, name)
	if err != nil {
		return t, "", err
	}
	if t, err = e.App().Worktree(row.Name); err != nil {
		return t, "", fika.Errorf(fika.NotFound, "", "@%s has no worktree: this home is no project's", row.Name)
	}
	if idle {
		if err := checkIdle(ctx, c, row.Name); err != nil {
			return t, "", err
		}
	}
	return t, t.MergeTarget(ctx, e.App().Dir()), nil
}

func checkIdle(ctx context.Context, c *client.Client, name fika.AgentName) error {
	v, err := c.Agents.View(ctx, string(name))
	if err != nil || len(v.Running)+len(v.Suspended) == 0 {
		return err
	}
	ids := []string{}
	for _, r := range append(v.Running, v.Suspended...) {
		ids = append(ids, string(r.ID))
	}
	return fika.Errorf(fika.Locked, "", "@%s is in the middle of a turn in its worktree; fika request wait %s, then say it again", name, strings.Join(ids, " "))
}
