package agent

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
)

func newReset(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "reset NAME...", Short: "let the next ask of an agent start afresh",
		Long:    "Gives agents a new, empty conversation. The old one is kept: fika conversation\nlist shows it, and the master console switches back to it.",
		Example: "  fika agent reset coder", ValidArgsFunction: command.Several(e.CompleteAgents),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Client(cmd.Context())
			if err != nil {
				return err
			}
			return forAgents(cmd.Context(), e, c.Agents, args, false, func(row fika.Agent) error {
				_, err := c.Agents.Reset(cmd.Context(), row)
				if err == nil {
					e.Say("%s @%s conversation context reset", e.ErrStyle().Green("✓"), row.Name)
				}
				return err
			})
		},
	}
}
