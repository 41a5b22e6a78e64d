package mcp

import (
	"github.com/spf13/cobra"

	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newRemove(e *command.Env) *cobra.Command {
	return command.AcceptYes(&cobra.Command{
		Use: "remove NAME", Short: "remove a server from config.toml", Long: "Removes the [[mcp]] entry of a server from config.toml, and forgets its tools.",
		Example: "  fika mcp remove files", Args: command.Exactly(1, "the name of a server"), ValidArgsFunction: complete.FirstOnly(names(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(e, func(s *mcpadmin.Servers) error {
				if err := s.Remove(cmd.Context(), args[0]); err != nil {
					return err
				}
				e.Say("removed %s", args[0])
				return nil
			})
		},
	})
}
