package workflow

import (
	"context"
	"time"

	"fika/internal/cli/command"
	"fika/internal/workflow"
)

// TeamOptions says how to wait for the work of a team, and how to print its result.
type TeamOptions struct {
	NoWait    bool
	Timeout   time.Duration
	JSON, Raw bool
}

// RunTeam gives a prompt to a team, shows what happens as fika workflow run does, and
// prints the result: the answers of some agents even if others failed.
func RunTeam(ctx context.Context, e *command.Env, l workflow.Line, t TeamOptions) error {
	c, err := e.ServiceWithHub(ctx)
	if err != nil {
		return err
	}
	r, d, err := c.Runs().StartTeam(ctx, l)
	if err != nil {
		return err
	}
	e.Typed = ""
	o := &runOptions{Env: e, timeout: t.Timeout, json: t.JSON, raw: t.Raw}
	if t.NoWait {
		return o.begun(r)
	}
	e.Say("run %s: %s", r.ID, l.AddressText())
	return o.await(ctx, c, r.ID, d)
}
