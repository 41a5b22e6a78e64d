package cli

import (
	"github.com/spf13/cobra"
)

// groupHelp sorts the commands of the root by what a person is about to do, and
// puts the examples of every command first.
func groupHelp(root *cobra.Command) {
	groups := []struct {
		id, title string
		commands  []string
	}{
		{"start", "Begin:", []string{"init", "demo", "run", "master"}},
		{"work", "Give work, and follow it:", []string{"ask", "task", "route", "chat", "workflow", "request", "conversation", "trace", "approve", "undo", "schedule"}},
		{"agents", "Agents, and what they are made of:", []string{"agent", "template", "context", "plugin", "mcp", "bus", "model", "key", "rules", "executor", "trust", "project", "config"}},
		{"system", "The system:", []string{"up", "down", "status", "usage", "profile", "top", "budget", "monitor", "doctor", "web", "store", "backup", "restore"}},
	}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range root.Commands() {
			for _, name := range g.commands {
				if c.Name() == name {
					c.GroupID = g.id
				}
			}
		}
	}
	root.SetUsageTemplate(usageTemplate)
}

// usageTemplate is that of the library, with the examples first.
const usageTemplate = `{{if .HasExample}}Examples:
{{.Example}}

{{end}}Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if gt (len .Aliases) 0}}

Also:
  {{.NameAndAliases}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Available Commands:{{range $cmds}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if not .AllChildCommandsHaveGroup}}

More:{{range $cmds}}{{if (and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global Flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} COMMAND --help" tells more about a command.{{end}}
`
