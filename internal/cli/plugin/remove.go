package plugin

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/pluginadmin"
)

func newRemove(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "remove a plugin", Long: "Removes a plugin. What it created (contexts, files) stays.",
		Example: "  fika plugin remove coffee-table", Args: command.Exactly(1, "the name of a plugin"), ValidArgsFunction: complete.FirstOnly(names{e}.installed),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := pluginadmin.Remove(e.App(), args[0]); err != nil {
				return err
			}
			e.Say("removed %s", args[0])
			return nil
		},
	}
}
