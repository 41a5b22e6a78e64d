package config

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New returns the command fika config.
func New(e *command.Env) *cobra.Command {
	return command.Group("config", "check, show and migrate the configuration", "", "  fika config check", newPath(e), newCheck(e), newShow(e), newMigrate(e))
}
