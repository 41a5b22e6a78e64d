package store

import (
	"github.com/spf13/cobra"

	"fika/internal/backup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/config"
	"fika/internal/service"
)

func newMove(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "move URL|FILE", Short: "copy the database to PostgreSQL, or back into a file", Args: command.Exactly(1, "the address or the file to copy to"),
		ValidArgsFunction: complete.FileNames,
		Long: `Copies everything in the database of this home to another one, and reads both
again to compare them. The hub must be down. The other database must be empty;
to continue an interrupted copy, give the command again. The home uses the new
database once [store] url in config.toml names it; to go back to a file, copy to
fika.db in the home and remove the key.`,
		Example: "  fika down && fika store move 'postgres://fika@localhost/fika?search_path=team'",
		RunE: func(cmd *cobra.Command, args []string) error {
			err := backup.MoveStore(cmd.Context(), e.App(), args[0], func(c service.Copied) { e.Say("%s: %d rows", c.Table, c.Rows) })
			if err != nil {
				return err
			}
			e.Say("both are the same. To use the new one, write it as [store] url into config.toml")
			return e.Printf("%s\n", config.WithoutSecrets(args[0]))
		},
	}
}
