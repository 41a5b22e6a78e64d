package agent

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newRestart(e *command.Env) *cobra.Command {
	var all, finish, now bool
	c := &cobra.Command{
		Use: "restart NAME...", Short: "stop agents and start them again",
		Long: `Stops agents as fika agent stop does, then starts them as fika agent start does,
so that changed settings take effect. Unfinished work continues.`,
		Example: "  fika agent restart coder", ValidArgsFunction: complete.AnyNumber(complete.AgentNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			how, err := command.StopManner(finish, now)
			if err != nil {
				return err
			}
			agents, list, err := agentsFor(ctx, e, args, all)
			if err != nil {
				return err
			}
			return eachAgent(ctx, e, list, func(row fika.Agent) error {
				if v, err := agents.View(ctx, string(row.Name)); err != nil || !v.Entry {
					return errors.Join(err, fika.Errorf(fika.Invalid, "", "@%s has no [[agents]] entry: end it in its terminal and start it there again", row.Name))
				}
				if err := stopAgent(ctx, e, agents, row, how, 0, ""); err != nil {
					return err
				}
				return startAgent(ctx, e, agents, row, 20*time.Second)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every agent")
	c.Flags().BoolVar(&finish, "finish", false, "finish the requests under way first")
	c.Flags().BoolVar(&now, "now", false, "cancel the current step")
	return c
}
