package plugin

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/pluginadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
	"fika/internal/text/hint"
)

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "show what a plugin provides, and whether it is in use",
		Long:    "Shows what is known about an installed plugin, without running it (fika plugin\ncheck runs it).",
		Example: "  fika plugin show coffee-table\n  fika plugin show coffee-table --json", Args: command.Exactly(1, "a plugin"), ValidArgsFunction: complete.FirstOnly(names{e}.installed),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := pluginadmin.List(cmd.Context(), e.App())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(list, func(s pluginadmin.State) bool { return s.Name == args[0] })
			if i < 0 {
				return fika.WithHint(fika.Errorf(fika.NotFound, "", "plugin %q not found", args[0]), hint.PluginList)
			}
			j := toPluginJSON(list[i])
			if asJSON {
				return e.PrintLine(j)
			}
			failing := ""
			if j.Block {
				failing = "a call is refused when its hooks fail"
			}
			return e.Facts(term.Fact{Label: "plugin", Value: list[i].Name}, term.Fact{Label: "state", Value: pluginStateOf(list[i])}, term.Fact{Label: "file", Value: list[i].Path},
				term.Fact{Label: "tools", Value: strings.Join(j.Tools, ", ")}, term.Fact{Label: "hooks", Value: strings.Join(j.Hooks, ", ")},
				term.Fact{Label: "environment", Value: strings.Join(j.Env, ", ")}, term.Fact{Label: "guard", Value: failing})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
