package config

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newPath(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "path", Short: "print where the config file is", Example: "  $EDITOR $(fika config path)", Args: command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			h, err := e.App().Home()
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintLine(pathJSON{h.ConfigFile()})
			}
			return e.Println(h.ConfigFile())
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

type pathJSON struct {
	Path string `json:"path"`
}
