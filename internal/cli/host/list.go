package host

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
)

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the hosts, their agents and when their hubs were last seen", Args: command.Exactly(0, "no arguments"),
		Long: `Lists the hosts by name; * marks this one. A host is down once its hub has given
no sign of life for 20 s; one that starts on demand is asleep, starting, stopping
or stopped (by hand) then, or its start has failed. Below, where a copy of a host's home was refused: a home
that was copied with its home_id to another disk.`,
		Example: "  fika store host list\n  fika store host list --json | jq -r 'select(.up|not).name'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Hosts().List(cmd.Context())
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			switch {
			case asJSON:
				return command.PrintLines(e, list, toJSON)
			case !c.Hosts().Shared():
				e.Say("the database is a file of this home, so there are no other hosts; docs/guides/machines.md shows how to have several")
				return nil
			case len(list) == 0:
				e.Say("no hub has run yet (fika up)")
				return nil
			}
			return show(e, list)
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func show(e *command.Env, list []service.Host) error {
	err := e.Table([]string{"HOST", "STATE", "SEEN", "LABELS", "VERSION", "AGENTS"}, command.TableRows(list, func(h service.Host) []string {
		name := h.Name
		if h.Here {
			name += " *"
		}
		return []string{name, stateWord(h), seenAgo(e, h), command.OrDash(strings.Join(h.Labels, " ")), command.OrDash(h.Version), command.OrDash(agentsOf(h))}
	}))
	if err != nil {
		return err
	}
	for _, h := range list {
		if h.Refused != "" {
			e.Say("%s", refusedLine(h, e.Now()))
		}
	}
	return nil
}
