package agent

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

func newReset(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "reset NAME...", Short: "start a new conversation at the next ask of an agent",
		Long:    "Gives agents a new, empty conversation. The old one is kept: fika conversation\nlist shows it, and the master console can switch back to it. For a pool, your\nasks stop going to the same member.",
		Example: "  fika agent reset coder", ValidArgsFunction: complete.AnyNumber(complete.AgentNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			return forAgents(cmd.Context(), e, c.Agents, args, false, func(row fika.Agent) error {
				if row.IsPool() {
					return unbind(cmd.Context(), e, c.Agents, row)
				}
				_, err := c.Agents.Reset(cmd.Context(), row)
				if err == nil {
					e.Say("%s @%s conversation context reset", e.ErrStyle().Green("✓"), row.Name)
				}
				return err
			})
		},
	}
}

// unbind makes the next ask of a pool choose a member anew.
func unbind(ctx context.Context, e *command.Env, agents *service.Agents, pool fika.Agent) error {
	was, found, err := agents.Unbind(ctx, pool)
	switch {
	case err != nil:
		return err
	case !found:
		e.Say("you have asked no member of @%s yet: your first ask goes to the one with the least work", pool.Name)
	default:
		e.Say("%s @%s conversation context reset; your next ask of @%s goes to whoever has the least work", e.ErrStyle().Green("✓"), was.Name, pool.Name)
	}
	return nil
}
