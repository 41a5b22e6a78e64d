package store

import (
	"github.com/spf13/cobra"

	"fika/internal/admin/backup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newImport(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "import PATH", Short: "store the rows of archives again", Args: command.Exactly(1, "an archive, or a folder of archives"),
		ValidArgsFunction: complete.FileNames,
		Long: `Stores again what fika store shrink or the hub has archived: the rows of one
archive (a file that ends in .jsonl), or of all archives below a folder. Rows
that are there stay as they are, so repeating it changes nothing. The archives
stay. Raise [keep] in config.toml first, or the rows are archived again.`,
		Example: "  fika store import ~/.fika/archive/chats/2026-01",
		RunE: func(cmd *cobra.Command, args []string) error {
			got, err := backup.ImportArchives(cmd.Context(), e.App(), args[0], func(file string, rows int) {
				e.Say("%s: %s", file, command.Plural(rows, "row"))
			})
			if err != nil {
				return err
			}
			return e.Printf("%s of %s stored\n", command.Plural(got.Rows, "row"), command.Plural(got.Archives, "archive"))
		},
	}
}
