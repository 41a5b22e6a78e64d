package plugin

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/admin/pluginadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/extension/plugin"
)

// names completes the names of plugins and of their tools.
type names struct{ *command.Env }

// list returns the plugins, or none if they cannot be read.
func (e names) list(cmd *cobra.Command) []pluginadmin.State {
	list, err := pluginadmin.List(cmd.Context(), e.App())
	if err != nil {
		return nil
	}
	return list
}

func (e names) installed(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, p := range e.list(cmd) {
		out = append(out, complete.WithAbout(p.Name, strings.Join(p.Tools, " ")))
	}
	return out, complete.NoFiles
}

func (e names) installedOrFiles(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out, _ := e.installed(cmd, args, word)
	return out, cobra.ShellCompDirectiveDefault
}

func (e names) shipped(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return plugin.ShippedNames(), cobra.ShellCompDirectiveDefault // or a file
}

func (e names) tools(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, p := range e.list(cmd) {
		for _, t := range p.Tools {
			out = append(out, complete.WithAbout(t, p.Name))
		}
	}
	return out, complete.NoFiles
}
