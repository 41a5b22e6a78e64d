package context

import (
	"github.com/spf13/cobra"

	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newExport(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "export NAME PATH", Short: "write a copy of a context into a new folder",
		Long: `Writes the entries and texts of a context into a new folder, from which any fika
can make the context again: with fika context import, or by a copy of the folder
in its contexts folder.`,
		Example: "  fika context export parser ~/backup/parser",
		Args:    command.Exactly(2, "a name and a folder that does not exist yet"), ValidArgsFunction: complete.InOrder(complete.ContextNames(e), complete.FileNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := Find(e, args[:1])
			if err != nil {
				return err
			}
			who, err := e.Principal()
			if err != nil {
				return err
			}
			n, err := contexts.Export(cmd.Context(), e.App(), who, f.Name, args[1])
			if err != nil {
				return err
			}
			e.Say("exported context %q with %d entries to %s", f.Name, n, args[1])
			return nil
		},
	}
}
