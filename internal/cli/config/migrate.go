package config

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/config/migrate"
)

func newMigrate(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "migrate [SOURCE]", Short: "make a config.toml from another program's configuration",
		Long: `Turns the JSON or TOML of niffler, or the TOML of chibi, into a config.toml of
this home. SOURCE is the file or its folder; without SOURCE, fika looks in the
usual places. fika first copies the source to a backup, and never touches a
config.toml that somebody has written in. It names what cannot be carried over.`,
		Example: "  fika config migrate ~/.config/niffler/config.json\n  fika --migrate-config", Args: command.AtMostOne("a file or folder"), ValidArgsFunction: complete.FirstOnly(complete.FileNames),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := e.App().Home()
			if err != nil {
				return err
			}
			source, err := migrationSource(args, e.Getenv("HOME"))
			if err != nil {
				return err
			}
			r, err := migrate.Run(source, h.Root, time.Now())
			if err != nil {
				return err
			}
			for _, b := range r.Backups {
				e.Say("backup: %s (keys and passwords of the original are in it, too; to remove it: rm %s)", b, b)
			}
			for _, x := range r.Lost {
				e.Warn("not carried over: " + x)
			}
			for _, x := range r.Check {
				e.Warn("please check: " + x)
			}
			e.Say("%s %s from %s (%s); fika config check, fika config show", e.ErrStyle().Green("✓"), r.Written, strings.Join(r.Sources, ", "), r.Format)
			return nil
		},
	}
	return c
}

// PointAtForeign warns that fika does not read a config.json in the home, which other
// programs use.
func PointAtForeign(e *command.Env, cmd *cobra.Command) {
	switch cmd.Name() {
	case "version", "completion", "help", "migrate", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return
	}
	root, err := e.App().Root()
	if err != nil {
		return // the command says so
	}
	if path := migrate.ForeignConfig(root); path != "" {
		e.Warn(path + " is not read: fika config migrate " + path + " makes a config.toml of it")
	}
}

// migrationSource returns the file to convert: the one given, or the only one in the
// usual places. It fails with NotFound if there is none.
func migrationSource(args []string, home string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	found := migrate.FindForeign(home)
	switch len(found) {
	case 0:
		return "", fika.Errorf(fika.NotFound, "", "nothing to migrate in the usual places; name the file: fika config migrate FILE")
	case 1:
		return found[0], nil
	}
	return "", command.UsageError("several can be migrated; name one: %s", strings.Join(found, ", "))
}
