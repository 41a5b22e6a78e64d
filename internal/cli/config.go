package cli

import (
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
		Use: "check", Short: "report every problem of the settings", Example: "  fika config check", Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			c, err := e.open().CheckConfig()
			if err != nil {
				return err
			}
			e.say("%d agents, %d models, no problems", len(c.Agents), len(c.Models))
			return nil
		},
	}
}
