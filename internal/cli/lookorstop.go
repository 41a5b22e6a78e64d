package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/api"
)

// looksOrStops reports whether a command only looks, or stops something that runs.
// If the settings cannot be read, such a command uses the last ones that could be: a
// slip in config.toml must not take the brake away.
func looksOrStops(cmd *cobra.Command) bool {
	path := cmd.CommandPath()
	does, _ := declarationOf(strings.Fields(path)[1:])
	v, _ := api.Find(does.verb)
	return path != "fika config check" && (v.Conduct == api.Looks || slices.Contains(stopCommands(), path))
}

// stopCommands names the commands that manage, but only to reduce what goes on.
func stopCommands() []string {
	return []string{
		"fika down", "fika agent stop", "fika chat pause", "fika chat stop", "fika request cancel",
		"fika context unlock", "fika plugin disable", "fika plugin remove", "fika skill remove", "fika mcp remove", "fika key remove",
	}
}
