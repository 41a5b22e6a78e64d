package config

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newPath(e *command.Env) *cobra.Command {
	return command.Show(e, "path", "print where the config file is", "  $EDITOR $(fika config path)", func() (string, any, error) {
		h, err := e.App().Home()
		if err != nil {
			return "", nil, err
		}
		return h.ConfigFile(), map[string]string{"path": h.ConfigFile()}, nil
	})
}
