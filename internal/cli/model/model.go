package model

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New returns the command fika model.
func New(e *command.Env) *cobra.Command {
	return command.Group("model", "list and show the models", "", "  fika model list\n  fika model show sonnet", newList(e), newShow(e))
}
