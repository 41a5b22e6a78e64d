package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show AGENT", Short: "show what an agent is and what it is doing",
		Long: `Shows where an agent is defined, its model, tools and folder, and what it is
doing now. --json prints what fika agent list --json prints for the agent. fika
context prompt NAME --assembled shows its prompt; fika config show, where each
setting comes from.`,
		Example: "  fika agent show coder\n  fika agent show coder --json", Args: command.Exactly(1, "an agent"), ValidArgsFunction: complete.FirstOnly(complete.AgentNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			v, err := viewOf(cmd.Context(), c.Agents, args[0])
			if err != nil {
				return err
			}
			served, err := serversOf(e)
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintLine(served.toJSON(v, e.Now()))
			}
			return showAgent(e, v, served)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// viewOf finds an agent or a context, without creating anything.
func viewOf(ctx context.Context, agents *service.Agents, name string) (service.AgentView, error) {
	n, err := fika.ParseAgentName(name)
	if err != nil {
		return service.AgentView{}, err
	}
	views, err := agents.List(ctx, true)
	if err != nil {
		return service.AgentView{}, err
	}
	if i := slices.IndexFunc(views, func(v service.AgentView) bool { return v.Row.Name == n }); i >= 0 {
		return views[i], nil
	}
	_, err = agents.Find(ctx, name) // the error lists the agents there are
	return service.AgentView{}, err
}

func showAgent(e *command.Env, v service.AgentView, served servers) error {
	conf, err := e.App().Config()
	if err != nil {
		return err
	}
	does := v.StatusWord()
	if why := v.Standing(); !why.IsClear() {
		does += ": " + words.Brief(why, e.Now())
	}
	facts := []term.Fact{{Label: "agent", Value: "@" + string(v.Row.Name)}, {Label: "for", Value: v.Row.Description}, {Label: "host", Value: v.Host}, {Label: "does", Value: does}, {Label: "trouble", Value: words.Brief(v.Trouble, e.Now())}, {Label: "model", Value: cmp.Or(strings.Join(v.Choice.Words(), "; "), v.Model)}}
	if entry := conf.Agent(v.Row.Name); entry != nil {
		at, _ := conf.WhereAgent(v.Row.Name)
		tools := "read, list and plugins"
		if entry.ToolPermissions != nil {
			tools = command.OrDash(strings.Join(entry.ToolPermissions, ", "))
		}
		facts = append(facts,
			term.Fact{Label: "good at", Value: strings.Join(entry.Capabilities, ", ")}, term.Fact{Label: "tools", Value: tools},
			term.Fact{Label: "MCP", Value: served.words(v)}, term.Fact{Label: "folder", Value: entry.Workspace}, term.Fact{Label: "defined in", Value: at.File})
	} else if v.Away && v.Entry {
		facts = append(facts, term.Fact{Label: "defined in", Value: "the settings of that host"})
	} else {
		facts = append(facts, term.Fact{Label: "defined in", Value: "no config: it is a context alone"})
	}
	facts = append(facts, backupFacts(v)...)
	return e.Facts(facts...)
}

// backupFacts returns the backups of an agent, and what was handed over lately.
func backupFacts(v service.AgentView) []term.Fact {
	var facts []term.Fact
	var names []string
	for _, name := range v.Backup {
		names = append(names, "@"+string(name))
	}
	if len(names) > 0 {
		facts = append(facts, term.Fact{Label: "backup", Value: strings.Join(names, ", ")})
	}
	for _, r := range v.HandedOver {
		if r.Handed != "" {
			facts = append(facts, term.Fact{Label: "handed over", Value: fmt.Sprintf("%s to @%s, %s: %s", r.ID, r.AgentName, r.State, r.Handed)})
		}
	}
	return facts
}
