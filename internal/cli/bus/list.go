package bus

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the members of the bus and their rights", Args: command.Exactly(0, "no arguments"),
		Long:    "Lists the members that [[bus_members]] names: which tools their requests may\nmake an agent use at most, and which agents they may ask.",
		Example: "  fika bus list\n  fika bus list --json | jq -r .name",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list := c.BusMembers()
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, toMemberJSON)
			}
			if len(list) == 0 {
				e.Say("no members (fika bus add NAME)")
				return nil
			}
			if why := c.MembersIgnored(); why != "" {
				e.Warn(why)
			}
			return e.Table([]string{"MEMBER", "TOOLS", "NETWORK", "AGENTS"}, command.TableRows(list, row))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}
