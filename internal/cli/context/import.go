package context

import (
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newImport(e *command.Env) *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use: "import NAME PATH", Short: "import a context folder from elsewhere",
		Long: `Imports the entries and texts of a context folder: one that fika exported, or
one of another program in the same format. The context is created if it is
missing. Entries that exist here are not imported twice; texts that exist here
stay.`,
		Example: "  fika context import parser ~/backup/parser",
		Args:    command.Exactly(2, "a name and a folder"), ValidArgsFunction: complete.InOrder(complete.ContextNames(e), complete.FileNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			got, err := contexts.Import(cmd.Context(), e.App(), name, args[1], wait, e.Person())
			if err != nil {
				return command.HeldHint(err)
			}
			for _, n := range got.Notes {
				e.Warn(n)
			}
			e.Say("imported %d of %d entries into context %q", got.New, got.Entries, name)
			if got.Unread > 0 {
				e.Say("%d unread messages came along; its next turn reads them", got.Unread)
			}
			return nil
		},
	}
	command.WaitFlag(c, &wait)
	return c
}
