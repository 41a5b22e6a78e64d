package store

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/admin/backup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

// NewBackup returns the command fika backup.
func NewBackup(e *command.Env) *cobra.Command {
	var list, asJSON bool
	c := &cobra.Command{
		Use: "backup [FILE]", Short: "save the database, settings, prompts, notes and plugins to a file", Args: command.AtMostOne("file"), ValidArgsFunction: complete.FileNames,
		Long: `Writes one file with the whole database as of one moment, and the settings,
prompts, notes and plugins of this home. Agents may be at work meanwhile. Keys
and passwords are left out, and so is what can be rebuilt from the database. The
file holds conversations in plain text. Without FILE it goes to backups/ in the
home, where the hub also puts one a day ([store] backups sets how many it
keeps).`,
		Example: "  fika store backup\n  fika store backup /mnt/usb/fika.zip\n  fika store backup --list",
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && !list {
				return command.UsageError("--json goes with --list")
			}
			if list {
				files, err := backup.List(e.App())
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintLines(e, files, toBackupJSON)
				}
				for _, f := range files {
					if err := e.Printf("%s\n", f); err != nil {
						return err
					}
				}
				return nil
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			path, err := backup.Write(cmd.Context(), e.App(), name)
			if err != nil {
				return err
			}
			return e.Printf("%s\n", path)
		},
	}
	c.Flags().BoolVar(&list, "list", false, "list the backups in the home, oldest first")
	c.Flags().BoolVar(&asJSON, "json", false, "with --list, print JSON Lines")
	return c
}

type backupJSON struct {
	File   string     `json:"file"`
	Bytes  int64      `json:"bytes"`
	MadeAt *time.Time `json:"made_at"` // null: the file has gone meanwhile
}

func toBackupJSON(path string) backupJSON {
	st, err := os.Stat(path)
	if err != nil {
		return backupJSON{File: path}
	}
	at := st.ModTime().UTC()
	return backupJSON{path, st.Size(), &at}
}
