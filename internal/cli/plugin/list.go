package plugin

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/admin/pluginadmin"
	"fika/internal/cli/command"
	"fika/internal/extension/plugin"
	"fika/internal/system/term"
)

type pluginJSON struct {
	Name    string   `json:"name"`
	Path    *string  `json:"path"`
	Enabled bool     `json:"enabled"`
	Shipped bool     `json:"shipped"`
	Tools   []string `json:"tools"`
	Hooks   []string `json:"hooks"`
	Block   bool     `json:"block"` // a call is refused when its hooks fail
	Env     []string `json:"env"`
	Missing []string `json:"missing_env"`
	Trouble *string  `json:"trouble"`
}

func toPluginJSON(s pluginadmin.State) pluginJSON {
	j := pluginJSON{
		Name: s.Name, Path: command.Optional(s.Path), Enabled: s.Enabled, Shipped: s.Shipped, Tools: append([]string{}, s.Tools...), Hooks: []string{},
		Block: s.Block, Env: s.Env, Missing: s.Missing, Trouble: command.Optional(s.Trouble),
	}
	for _, h := range s.Hooks {
		j.Hooks = append(j.Hooks, string(h))
	}
	return j
}

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the installed plugins", Example: "  fika plugin list --json", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := pluginadmin.List(cmd.Context(), e.App())
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, toPluginJSON)
			}
			if len(list) == 0 {
				e.Say("no plugins are installed; built-in: %s (fika plugin install NAME)", strings.Join(plugin.ShippedNames(), ", "))
			}
			return e.Table([]string{"PLUGIN", "STATE", "TOOLS", "HOOKS"}, command.TableRows(list, func(s pluginadmin.State) []string {
				j := toPluginJSON(s)
				return []string{term.CleanLine(s.Name), pluginStateOf(s), term.CleanLine(strings.Join(j.Tools, " ")), strings.Join(j.Hooks, " ")}
			}))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func pluginStateOf(s pluginadmin.State) string {
	switch {
	case s.Trouble != "":
		return term.CleanLine(s.Trouble)
	case !s.Enabled:
		return "disabled"
	case len(s.Missing) > 0:
		return "wants " + term.CleanLine(strings.Join(s.Missing, " "))
	}
	return "ok"
}
