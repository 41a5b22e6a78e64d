package agent

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
)

func newList(e *command.Env) *cobra.Command {
	var all, asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list agents and what they are doing",
		Long: `Lists the agents in the config, and others that are running or have work
waiting. REQUESTS counts what the process has finished since it started;
WAITING, the requests and chats it could take now; MCP, the servers whose tools
it may use, with the number of those tools. Works without a hub.`,
		Example: "  fika agent list\n  fika agent list --json | jq -r 'select(.status==\"failed\").name'", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			views, err := c.Agents.List(cmd.Context(), all)
			if err != nil {
				return err
			}
			served, err := serversOf(e)
			if err != nil {
				return err
			}
			views = command.AtMost(views, limit)
			if asJSON {
				return command.PrintLines(e, views, func(v service.AgentView) listedJSON { return served.toJSON(v, e.Now()) })
			}
			if len(views) == 0 {
				e.Say("no agents in %s (fika init)", "config.toml")
				return nil
			}
			return agentTable(e, views, served)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "also list contexts without an [[agents]] entry, a process or waiting work")
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}
