package plugin

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/pluginadmin"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/extension/plugin"
	"fika/internal/system/term"
)

func newInstall(e *command.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "install NAME", Short: "install a plugin",
		Long: `Installs a plugin that comes with fika, or a file or folder of your own after
checking it. A plugin gets only the usual variables of your environment; if it
asks for more, fika asks you and writes what you allow to config.toml. With fika
come:
` + strings.Join(plugin.ShippedNames(), ", ") + ".",
		Example:           "  fika plugin install coffee-table\n  fika plugin install ./mine --yes",
		Args:              command.Exactly(1, "the name of a plugin, or a file or folder"),
		ValidArgsFunction: complete.FirstOnly(names{e}.shipped),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := pluginadmin.Install(cmd.Context(), e.App(), args[0], e.Person())
			if err != nil {
				return err
			}
			e.Say("installed %s: %s", r.Name, r.Path)
			for _, n := range r.Notes {
				e.Warn(n)
			}
			if err := sayWhoGets(e, r.Tools); err != nil {
				return err
			}
			shipped := slices.Contains(plugin.ShippedNames(), args[0]) // a plugin of fika gets what it asks for
			if err := grantTools(e, r, yes || shipped); err != nil || !shipped {
				return err
			}
			return makeKeeper(e, fika.AgentName(args[0]))
		},
	}
	command.YesFlag(c, &yes, "grant what it asks for: environment variables, the use of fika")
	return c
}

// makeKeeper makes the agent that belongs to a plugin that comes with fika, if there is a
// template of its name and no such agent yet.
func makeKeeper(e *command.Env, name fika.AgentName) error {
	templates, err := setup.AgentTemplates(e.App())
	if err != nil {
		return err
	}
	if _, err := templates.Find(string(name)); err != nil {
		return nil // most plugins have no agent
	}
	n, err := setup.AgentFrom(e.App(), name, setup.FromTemplate{})
	if err != nil {
		return err
	}
	n.Own = true
	made, err := setup.CreateAgent(e.App(), n)
	switch {
	case fika.IsKind(err, fika.Conflict):
		return nil // as a person made it
	case err != nil:
		return err
	}
	e.Say("created agent %s (%s), which a hub wakes when something is said there; fika agent delete %s removes it", name, made.File, name)
	return nil
}

// sayWhoGets says which agents and contexts may use the tools of a new plugin.
func sayWhoGets(e *command.Env, tools []string) error {
	for _, name := range tools {
		lacking, err := pluginadmin.WithoutTool(e.App(), name)
		if err != nil {
			return err
		}
		if len(lacking) == 0 {
			e.Say("  tool %s: every agent and context may use it", term.CleanLine(name))
			continue
		}
		e.Say("  tool %s: every agent and context may use it, except those whose tool_permissions or tools_off leave it out: %s", term.CleanLine(name), strings.Join(lacking, ", "))
	}
	return nil
}

// grantTools grants a plugin what it asks for, variables and the use of fika itself, if
// yes is set or the person agrees. Without a terminal or a clear yes, it grants nothing.
func grantTools(e *command.Env, r plugin.Report, yes bool) error {
	if len(r.Env) == 0 && !r.Home {
		return nil
	}
	names, keys := term.CleanLine(strings.Join(r.Env, ", ")), "env = [...]"
	if slices.Contains(r.Env, plugin.ModelKeys) {
		names += " (" + plugin.ModelKeys + ": the variables with the keys of your models)"
	}
	switch {
	case r.Home && names == "":
		names, keys = "the use of fika itself, with all rights of yours", "access = \"home\""
	case r.Home:
		names, keys = names+" and the use of fika itself, with all rights of yours", keys+", access = \"home\""
	}
	if !yes && e.InTTY {
		fmt.Fprintf(e.Err, "%s asks for %s. Give it that? [y/N] ", term.CleanLine(r.Name), names)
		answer, _ := bufio.NewReader(e.Keyboard).ReadString('\n')
		answer = strings.ToLower(strings.TrimSpace(answer))
		yes = answer == "y" || answer == "yes"
	}
	if !yes {
		e.Say("it does not get %s; to give them: [plugins.%s] %s in config.toml, or install it again with --yes", names, r.Name, keys)
		return nil
	}
	if err := pluginadmin.Grant(e.App(), r.Name, r.Env, r.Home); err != nil {
		return err
	}
	e.Say("%s gets %s", r.Name, names)
	return nil
}
