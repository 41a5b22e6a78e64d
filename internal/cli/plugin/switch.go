package plugin

import (
	"github.com/spf13/cobra"

	"fika/internal/admin/pluginadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newSwitch(e *command.Env, verb, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Example: "  fika plugin " + verb + " coffee-table", Args: command.Exactly(1, "the name of a plugin"), ValidArgsFunction: complete.FirstOnly(names{e}.installed),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := pluginadmin.SetEnabled(e.App(), args[0], on); err != nil {
				return err
			}
			e.Say("%sd %s", verb, args[0])
			return nil
		},
	}
}
