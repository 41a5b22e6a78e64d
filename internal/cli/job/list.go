package job

import (
	"strconv"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newList(e *command.Env) *cobra.Command {
	var agent string
	var running, asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list background commands, newest first", Example: "  fika agent job list --running\n  fika agent job list --agent coder --json", Args: command.Exactly(0, "no arguments"),
		Long: "Lists the background commands of agents, newest first: those that run, and the\nlast hundred of each agent that have ended.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			f := service.JobFilter{Running: running, Limit: limit}
			if agent != "" {
				row, err := c.Agents.FindKnown(cmd.Context(), agent)
				if err != nil {
					return err
				}
				f.Agent = row.ID
			}
			list, err := c.Jobs().List(cmd.Context(), f)
			if err != nil {
				return err
			}
			if asJSON {
				return command.PrintLines(e, list, toJSON)
			}
			return e.Table([]string{"JOB", "AGENT", "CHAT", "STATE", "AGE", "COMMAND"}, command.TableRows(list, func(j service.Job) []string {
				return []string{strconv.FormatInt(j.N, 10), string(j.AgentName), string(j.In), page.JobState(j), term.Ago(j.Started, e.Now()), term.Truncate(term.CleanLine(j.Command), 60)}
			}))
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only those of this agent")
	c.Flags().BoolVar(&running, "running", false, "only those that run")
	command.LimitFlag(c, &limit, 50, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	_ = c.RegisterFlagCompletionFunc("agent", complete.AgentNames(e))
	return c
}
