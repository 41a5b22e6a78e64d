package store

import (
	"github.com/spf13/cobra"

	"fika/internal/admin/backup"
	"fika/internal/cli/command"
	"fika/internal/store/archive"
)

type shrinkJSON struct {
	DryRun   bool           `json:"dry_run"`
	Archived []archivedJSON `json:"archived"`
	Before   int64          `json:"bytes_before"`
	After    int64          `json:"bytes_after"`
}

type archivedJSON struct {
	Kind     string `json:"kind"`
	Rows     int    `json:"rows"`
	Archives int    `json:"archives"`
}

func newShrink(e *command.Env) *cobra.Command {
	var dry, asJSON bool
	c := &cobra.Command{
		Use: "shrink", Short: "archive what is older than [keep] says, and give its space back", Args: command.Exactly(0, "no arguments"),
		Long: `Writes what is older than [keep] in config.toml says into archive/ in the home,
removes it from the database, and makes the file of the database smaller. The
hub must be down, and the disk must have room for a copy of the database. What
is open stays: unfinished requests and what belongs to them, messages that
somebody has yet to read, pinned entries. Without [keep], only free space is
given back. A database on a server reuses the space for itself.

An archive is a file of rows, one a line, and a file for people beside it; fika
store import stores its rows again. --dry-run only counts.`,
		Example: "  fika store shrink --dry-run\n  fika down && fika store shrink",
		RunE: func(cmd *cobra.Command, _ []string) error {
			run := func() (backup.Shrunk, error) { return backup.Due(cmd.Context(), e.App()) }
			if !dry {
				run = func() (backup.Shrunk, error) {
					return backup.Shrink(cmd.Context(), e.App(), func(d archive.Done) {
						if d.Archives%100 == 0 {
							e.Say("%s: %s archived", d.Kind, command.Plural(d.Rows, "row"))
						}
					})
				}
			}
			out, err := run()
			if err != nil {
				return err
			}
			if asJSON {
				j := shrinkJSON{DryRun: dry, Archived: []archivedJSON{}, Before: out.Before, After: out.After}
				for _, d := range out.Done {
					j.Archived = append(j.Archived, archivedJSON{string(d.Kind), d.Rows, d.Archives})
				}
				return e.PrintJSON(j)
			}
			verb := "archived"
			if dry {
				verb = "would be archived"
			}
			for _, d := range out.Done {
				if err := e.Printf("%s: %s %s\n", d.Kind, command.Plural(d.Rows, "row"), verb); err != nil {
					return err
				}
			}
			if dry {
				return e.Printf("the database takes %d KiB\n", out.Before>>10)
			}
			return e.Printf("the database took %d KiB and takes %d KiB\n", out.Before>>10, out.After>>10)
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "count what would be archived, and change nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
