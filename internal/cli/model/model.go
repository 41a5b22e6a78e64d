package model

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New returns the command fika model.
func New(e *command.Env) *cobra.Command {
	return command.Group("model", "list, show, check and update the models", "", "  fika model list\n  fika model show sonnet\n  fika model check sonnet", newList(e), newShow(e), newCheck(e), newUpdate(e))
}
