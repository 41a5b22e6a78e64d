package host

import (
	"context"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
)

func newDrain(e *command.Env) *cobra.Command {
	return change(e, "drain", "let a host begin no more work",
		`Has a host begin no work, for as long as it takes: until fika store host resume. Its
agents end after their current steps, and what they had begun waits for the host.
Its hub keeps running. It takes up to five seconds until that hears of it.`,
		"  fika store host drain laptop", "%s is drained: its agents end after their current steps (fika agent list)",
		func(ctx context.Context, c *service.Service, name string) error { return c.Hosts().Drain(ctx, name) })
}

func newResume(e *command.Env) *cobra.Command {
	return change(e, "resume", "let a drained host work again", "Lets a host that was drained begin work again. It takes up to five seconds until its\nhub hears of it.",
		"  fika store host resume laptop", "%s works again",
		func(ctx context.Context, c *service.Service, name string) error { return c.Hosts().Resume(ctx, name) })
}

func newForget(e *command.Env) *cobra.Command {
	var stolen bool
	c := change(e, "forget", "remove a host that is gone for good",
		`Removes a host whose hub is down and stays down. Each of its agents then belongs to
the host that next defines one of its name; conversations and work stay. A role that
fika store host add has made for it can log in no more. If the host comes up again
with another role, it is a host again.

--stolen is for a machine in other hands: its role is locked out first, and its
connections end, also while it is up.`,
		"  fika store host forget old-laptop\n  fika store host forget laptop --stolen", "%s is forgotten",
		func(ctx context.Context, c *service.Service, name string) error {
			return forget(ctx, e, c, name, stolen)
		})
	c.Flags().BoolVar(&stolen, "stolen", false, "lock its role out first")
	return command.AcceptYes(c)
}

// forget forgets a host, and says what of it others have to take over.
func forget(ctx context.Context, e *command.Env, c *service.Service, name string, stolen bool) error {
	h, err := c.Hosts().Show(ctx, name)
	if err != nil {
		return err
	}
	if err := c.Hosts().Forget(ctx, name, stolen); err != nil {
		return err
	}
	if stolen {
		e.Say("what it knows of the bus is still good there: change the password that all hosts have ([nats])")
	}
	if len(h.Agents) > 0 {
		e.Say("its agents (%s) and what waits for them go to the hosts that next define them ([[agents]])", agentsOf(h))
	}
	offers, err := c.Offers().Away(ctx)
	if err != nil {
		return err
	}
	for _, o := range offers {
		if o.Host == h.ID {
			e.Say("offer %d %s", o.Number, o.Waits)
		}
	}
	return nil
}
