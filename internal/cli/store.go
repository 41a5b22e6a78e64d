package cli

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/backup"
	"fika/internal/client"
	"fika/internal/config"
)

func newStore(e *env) *cobra.Command {
	return group("store", "look at the database, or move it", `All conversations, requests and outcomes are in one database: the file fika.db in
the home, or a schema on a PostgreSQL server ([store] url).`,
		"  fika store show\n  fika store move postgres://fika@localhost/fika\n  fika store check",
		newStoreShow(e), newStoreMove(e), newStoreCheck(e))
}

func newStoreShow(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show", Short: "show which database this home has, and how it is", Args: exactly(0, "no arguments"),
		Example: "  fika store show --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := backup.StoreMeta(cmd.Context(), e.open())
			if err != nil {
				return err
			}
			if asJSON {
				return e.printJSON(toStoreJSON(m, m.Bytes))
			}
			if err := e.printf("%s\n%s, schema %d, id %s\n", config.WithoutSecrets(m.Path), m.Engine, m.Schema, m.StoreID); err != nil {
				return err
			}
			if m.MaxConnections > 0 {
				return e.printf("%s\n", serverLine(m))
			}
			return e.printf("%s\n", m.Sync)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func newStoreMove(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "move URL|FILE", Short: "copy the database to PostgreSQL, or back into a file", Args: exactly(1, "the address or the file to copy to"),
		ValidArgsFunction: files,
		Long: `Copies everything that is in the database of this home to another one, and reads
both again to compare them. The hub must be down. The other one must be empty; a
copy that was interrupted goes on when the command is given again. The home uses
the new database once [store] url in config.toml names it; to go back to a file,
copy to fika.db in the home and remove the key.`,
		Example: "  fika down && fika store move 'postgres://fika@localhost/fika?search_path=team'",
		RunE: func(cmd *cobra.Command, args []string) error {
			err := backup.MoveStore(cmd.Context(), e.open(), args[0], func(c client.Copied) { e.say("%s: %d rows", c.Table, c.Rows) })
			if err != nil {
				return err
			}
			e.say("both are the same. To use the new one, write it as [store] url into config.toml")
			return e.printf("%s\n", config.WithoutSecrets(args[0]))
		},
	}
}

func newStoreCheck(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "read the whole database and say what is damaged", Args: exactly(0, "no arguments"),
		Long:    "Reads every page and row. Exit status 1 when something is damaged.",
		Example: "  fika store check",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := backup.CheckStore(cmd.Context(), e.open())
			if err != nil {
				return err
			}
			for _, f := range found {
				if err := e.printf("%s\n", f); err != nil {
					return err
				}
			}
			if len(found) > 0 {
				return fika.Errorf(fika.Failed, "", "the database is damaged: fika restore brings back a backup (%s)", "fika backup --list shows those the hub has made")
			}
			e.say("the database is sound")
			return nil
		},
	}
}

func newBackup(e *env) *cobra.Command {
	var list bool
	c := &cobra.Command{
		Use: "backup [FILE]", Short: "save the database and what you have edited into one file", Args: atMostOne("file"), ValidArgsFunction: files,
		Long: `Writes one file: the whole database as of one moment, and settings, prompts,
notes and plugins of this home. Agents may be at work meanwhile. Keys and
passwords are left out, and so is what is made again from the database. The file
holds conversations in plain text. Without FILE it goes to backups/ in the home,
where the hub also puts one a day ([store] backups says how many it keeps).`,
		Example: "  fika backup\n  fika backup /mnt/usb/fika.zip\n  fika backup --list",
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				files, err := backup.List(e.open())
				if err != nil {
					return err
				}
				for _, f := range files {
					if err := e.printf("%s\n", f); err != nil {
						return err
					}
				}
				return nil
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			path, err := backup.Write(cmd.Context(), e.open(), name)
			if err != nil {
				return err
			}
			return e.printf("%s\n", path)
		},
	}
	c.Flags().BoolVar(&list, "list", false, "list the backups in the home, oldest first")
	return c
}

func newRestore(e *env) *cobra.Command {
	var empty bool
	c := &cobra.Command{
		Use: "restore [FILE]", Short: "bring back a backup", Args: atMostOne("file"), ValidArgsFunction: files,
		Long: `Puts the database and the files of a backup in the place of those that are
there, which are set aside under another name, never deleted. The hub must be
down. What was said since the backup is in what is set aside. With --empty it
begins a new database instead, for a home whose database is lost: contexts then
bring back what their folders tell of, chats and tasks are gone.`,
		Example: "  fika down && fika restore ~/.fika/backups/fika-20260501-120000.zip",
		RunE: func(cmd *cobra.Command, args []string) error {
			if empty == (len(args) == 1) {
				return usageError("name the backup to bring back, or give --empty")
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			out, err := backup.Restore(cmd.Context(), e.open(), name, empty)
			for _, a := range out.Aside {
				e.say("set aside: %s", a)
			}
			if err != nil {
				return err
			}
			if empty {
				e.say("this home has a new, empty database")
				return nil
			}
			e.say("restored, with %s of the home; fika up goes on from there", plural(out.Files, "file"))
			return nil
		},
	}
	c.Flags().BoolVar(&empty, "empty", false, "begin a new database")
	return c
}
