package config

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/admin/doctor"
	"fika/internal/cli/command"
	"fika/internal/settings/config"
)

func newCheck(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "check", Short: "report every problem in the settings",
		Long: `Reports everything that is wrong with config.toml, models.toml and the
local.toml of each context, including models, agents, workspaces and tools that
they name but that do not exist. The exit status is 2 if anything is wrong.

A name in tool_permissions or tools_off that is almost the name of a tool counts
as misspelt. Any other unknown name may belong to a plugin that is not installed
yet: it causes a warning, as does a key that does nothing.`,
		Example: "  fika config check", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := doctor.CheckConfig(cmd.Context(), e.App())
			if asJSON {
				return printChecked(e, c, err)
			}
			if err != nil {
				return err
			}
			for _, w := range c.Warnings {
				e.Warn(w)
			}
			e.Say("%s, %s, no problems", command.Plural(len(c.Entries()), "agent"), command.Plural(len(c.Models), "model"))
			return nil
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

type checkedJSON struct {
	Agents   *int     `json:"agents"`
	Models   *int     `json:"models"`
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
}

// printChecked prints what is wrong with the settings, and fails if anything is.
func printChecked(e *command.Env, c doctor.ConfigReport, err error) error {
	out := checkedJSON{Problems: []string{}, Warnings: []string{}}
	if err != nil {
		out.Problems = strings.Split(config.WithoutSecrets(err.Error()), "\n")
		return errors.Join(e.PrintLine(out), command.Silent{Kind: command.ErrorKind(err)})
	}
	agents, models := len(c.Entries()), len(c.Models)
	out.Agents, out.Models, out.Warnings = &agents, &models, command.EmptyIfNil(c.Warnings)
	return e.PrintLine(out)
}
