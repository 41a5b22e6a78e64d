package store

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New returns the command fika store.
func New(e *command.Env) *cobra.Command {
	return command.Group("store", "show, check, move or shrink the database", `All conversations, requests and outcomes are in one database: the file fika.db in
the home, or a schema on a PostgreSQL server ([store] url).`,
		"  fika store show\n  fika store move postgres://fika@localhost/fika\n  fika store check",
		newShow(e), newMove(e), newCheck(e), newShrink(e), newImport(e))
}
