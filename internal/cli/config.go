package cli

import (
	"fika/internal/doctor"

	"github.com/spf13/cobra"
)

func newConfig(e *env) *cobra.Command {
	return group("config", "check, show and migrate the configuration", "", "  fika config check", newConfigPath(e), newConfigCheck(e), newConfigShow(e), newConfigMigrate(e))
}

func newConfigPath(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "print where the config file is", Example: "  $EDITOR $(fika config path)", Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			h, err := e.open().Home()
			if err != nil {
				return err
			}
			return e.println(h.ConfigFile())
		},
	}
}

func newConfigCheck(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "report every problem of the settings",
		Long: `Reports everything that is wrong with config.toml, models.toml and the local.toml
of each context, and what they name that is not there: models, agents, workspaces,
tools. It ends with status 2 if anything is.

A name in tool_permissions or tools_off that is nearly the name of a tool counts as
misspelt. Any other that is unknown may belong to a plugin that is not installed
yet: that, and a key that does nothing, is a warning.`,
		Example: "  fika config check", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := doctor.CheckConfig(cmd.Context(), e.open())
			if err != nil {
				return err
			}
			for _, w := range c.Warnings {
				e.warn(w)
			}
			e.say("%d agents, %d models, no problems", len(c.Agents), len(c.Models))
			return nil
		},
	}
}
