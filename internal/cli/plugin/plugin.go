package plugin

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New returns the command fika plugin.
func New(e *command.Env) *cobra.Command {
	return command.Group("plugin", "list, check, call and install plugins",
		"A plugin is an executable in the plugins folder that gives agents tools, or\nlistens to hooks. It runs in a sandbox, or with all your rights if you allow\nthat (access = \"home\", sandbox = \"off\"): install only what you trust.",
		"  fika plugin list\n  fika plugin install coffee-table\n  fika plugin check ./mine",
		newList(e), newShow(e), newCheck(e), newCall(e), newInstall(e), newRemove(e),
		newSwitch(e, "enable", "use a plugin again", true), newSwitch(e, "disable", "turn a plugin off without removing it", false))
}
