package store

import (
	"github.com/spf13/cobra"

	"fika/internal/admin/backup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

// NewRestore returns the command fika restore.
func NewRestore(e *command.Env) *cobra.Command {
	var empty bool
	c := &cobra.Command{
		Use: "restore [FILE]", Short: "restore a backup", Args: command.AtMostOne("file"), ValidArgsFunction: complete.FileNames,
		Long: `Replaces the current database and files with those of a backup. The current ones
are set aside under another name, never deleted; they hold what was said since
the backup. The hub must be down. --empty begins a new database instead, for a
home whose database is lost: contexts then restore what their folders hold;
chats and tasks are gone.`,
		Example: "  fika down && fika store restore ~/.fika/backups/fika-20260501-120000.zip",
		RunE: func(cmd *cobra.Command, args []string) error {
			if empty == (len(args) == 1) {
				return command.UsageError("name the backup to bring back, or give --empty")
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			out, err := backup.Restore(cmd.Context(), e.App(), name, empty)
			for _, a := range out.Aside {
				e.Say("set aside: %s", a)
			}
			if err != nil {
				return err
			}
			if out.Schema != "" {
				e.Say("the schema that the settings named belongs to another home and was left alone; this home has the schema %s now, and [store] url names it", out.Schema)
			}
			if empty {
				e.Say("this home has a new, empty database")
				return nil
			}
			e.Say("restored, with %s of the home; fika up continues from there", command.Plural(out.Files, "file"))
			return nil
		},
	}
	c.Flags().BoolVar(&empty, "empty", false, "begin a new, empty database")
	return command.AcceptYes(c)
}
