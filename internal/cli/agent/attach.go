package agent

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/watch"
	"fika/internal/service"
)

func newAttach(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "attach NAME", Short: "watch an agent work, live",
		Long: `Shows what an agent does, as its own terminal would: what it receives, its text
as it arrives, its tool calls and their results. A request that is under way is
shown from its beginning, as far as its steps are committed. Ctrl-C stops the
watching, never the work.`,
		Example: "  fika agent attach coder", Args: command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			return attach(cmd.Context(), e, c, args[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the status messages as JSON Lines")
	return c
}

func attach(ctx context.Context, e *command.Env, c *service.Service, name string, asJSON bool) error {
	row, err := c.Agents.FindLone(ctx, name)
	if err != nil {
		return err
	}
	if err := c.Agents.MayRead(row); err != nil {
		return err
	}
	statuses, err := c.Agents.Statuses(ctx, row)
	if err != nil {
		return err
	}
	defer statuses.Close()
	v, err := c.Agents.View(ctx, string(row.Name))
	if err != nil {
		return err
	}
	e.Say("%s", e.ErrStyle().Dim(fmt.Sprintf("attached to @%s (%s); ctrl-c leaves, the agent continues", row.Name, v.StatusWord())))
	if !asJSON {
		return watch.Agent(ctx, e, c.Requests, v.Running, statuses.C)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-statuses.C:
			if err := e.PrintLine(s); err != nil {
				return err
			}
		}
	}
}
