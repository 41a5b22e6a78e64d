package store

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/backup"
	"fika/internal/cli/command"
)

func newCheck(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "read the whole database and report what is damaged", Args: command.Exactly(0, "no arguments"),
		Long:    "Reads every page and row. The exit status is 1 if something is damaged.",
		Example: "  fika store check",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := backup.CheckStore(cmd.Context(), e.App())
			if err != nil {
				return err
			}
			for _, f := range found {
				if err := e.Printf("%s\n", f); err != nil {
					return err
				}
			}
			if len(found) > 0 {
				return fika.Errorf(fika.Failed, "", "the database is damaged: fika store restore brings back a backup (%s)", "fika store backup --list shows those the hub has made")
			}
			e.Say("the database is sound")
			return nil
		},
	}
}
