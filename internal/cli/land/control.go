package land

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
)

// control completes c to a command that changes one offer and prints how it then stands.
func control(e *command.Env, c *cobra.Command, do func(*cobra.Command, *service.Offers, fika.OfferNumber) (fika.Offer, error)) *cobra.Command {
	var asJSON bool
	c.Args, c.ValidArgsFunction = command.Exactly(1, "the number of an offer"), numbers(e, false)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		n, err := number(args[0])
		if err != nil {
			return err
		}
		c, err := e.Service(cmd.Context())
		if err != nil {
			return err
		}
		o, err := do(cmd, c.Offers(), n)
		if err != nil {
			return err
		}
		return changed(cmd.Context(), e, c.Offers(), o, asJSON)
	}
	command.JSONFlag(c, &asJSON)
	return c
}

func newCancel(e *command.Env) *cobra.Command {
	var why string
	c := control(e, &cobra.Command{
		Use: "cancel OFFER", Short: "take an offer out of the queue", Example: "  fika land cancel 3 --reason \"not yet\"",
		Long: "Takes an offer out of the queue. The check of one that is being checked ends at once,\nand so does the turn of an agent that works on it. The branch and the worktree that it\ncomes from stay as they are.",
	}, func(cmd *cobra.Command, o *service.Offers, n fika.OfferNumber) (fika.Offer, error) {
		return o.Cancel(cmd.Context(), n, why)
	})
	c.Flags().StringVar(&why, "reason", "", "why; it is kept with the offer")
	_ = c.RegisterFlagCompletionFunc("reason", cobra.NoFileCompletions)
	return c
}

func newRetry(e *command.Env) *cobra.Command {
	var accept []string
	c := control(e, &cobra.Command{
		Use: "retry OFFER", Short: "try an offer again", Example: "  fika land retry 3\n  fika land retry 3 --accept AGENTS.md",
		Long: `Puts an offer into the queue again that came back, was refused or was cancelled,
with what its branch or its agent has now, or lets a queue go on that has stopped.
One of an agent that is held continues as it was offered.

What makes git or another program run or fetch something lands only with your yes,
path by path: submodules, .gitmodules, filters and drivers in .gitattributes, links
out of the tree, hooks in the tree, settings and instructions of editors and agents.
--accept PATH says it, for the commit that was offered.

One that has landed and could not be pushed is pushed at once. The command that
[landing] after names runs after a push once you have said yes to it as it is shown:
--accept COMMAND says so, now and for each push after this one.`,
	}, func(cmd *cobra.Command, o *service.Offers, n fika.OfferNumber) (fika.Offer, error) {
		return o.Retry(cmd.Context(), n, accept)
	})
	c.Flags().StringArrayVar(&accept, "accept", nil, "let a change of this path land that needs your yes; may be repeated")
	_ = c.RegisterFlagCompletionFunc("accept", cobra.NoFileCompletions)
	return c
}

func newUndo(e *command.Env) *cobra.Command {
	var asJSON, wait bool
	c := &cobra.Command{
		Use: "undo OFFER", Short: "offer what takes back an offer that has landed", Args: command.Exactly(1, "the number of an offer"), ValidArgsFunction: numbers(e, true),
		Example: "  fika land undo 3 --wait",
		Long: `Makes a commit that takes back what an offer has brought to the branch, and offers
it: it is checked and lands like all others. Where that was changed since, the paths
are named, and nothing is offered.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := number(args[0])
			if err != nil {
				return err
			}
			return add(cmd.Context(), e, service.UndoOf(n), wait, asJSON)
		},
	}
	c.Flags().BoolVarP(&wait, "wait", "w", false, "wait until it has landed or comes back; exit status 1 if it does")
	command.JSONFlag(c, &asJSON)
	return c
}
