package store

import (
	"github.com/spf13/cobra"

	"fika/internal/admin/backup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/settings/config"
)

func newMove(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "move URL|FILE", Short: "copy the database to PostgreSQL, or back into a file", Args: command.Exactly(1, "the address or the file to copy to"),
		ValidArgsFunction: complete.FileNames,
		Long: `Copies everything in the database of this home to another one, and reads both
again to compare them. The hub must be down. The other database must be empty,
or one that was moved from there before, which is set aside; to continue an
interrupted copy, give the command again. After that the old database is no
longer used: commands fail and say where it is until [store] url in config.toml
names the new one. To go back to a file, move to fika.db in the home and remove
the key.`,
		Example: "  fika down && fika store move 'postgres://fika@localhost/fika?search_path=team'",
		RunE: func(cmd *cobra.Command, args []string) error {
			aside, err := backup.MoveStore(cmd.Context(), e.App(), args[0], func(c service.Copied) { e.Say("%s: %d rows", c.Table, c.Rows) })
			if err != nil {
				return err
			}
			if aside != "" {
				e.Say("set aside: %s", aside)
			}
			e.Say("both are the same, and the old one is marked as moved. To go on with the new one, write it as [store] url into config.toml (fika.db in the home: remove the key)")
			return e.Printf("%s\n", config.WithoutSecrets(args[0]))
		},
	}
}
