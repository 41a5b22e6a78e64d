package agent

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

func newStart(e *command.Env) *cobra.Command {
	var all bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "start NAME...", Short: "start agents in the background",
		Long: `Starts agents and returns when each has given a sign of life; if one does not,
reports why, with the end of its log. The hub keeps such an agent running: it
starts the agent again after a crash, and after fika down and up, until fika
agent stop. If the hub is not running, this command starts it.`,
		Example: "  fika agent start researcher\n  fika agent start 'test-*'", ValidArgsFunction: complete.AnyNumber(complete.AgentNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			agents, list, err := agentsFor(ctx, e, args, all)
			if err != nil {
				return err
			}
			return eachAgent(ctx, e, list, func(row fika.Agent) error { return startAgent(ctx, e, agents, row, timeout) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every agent in the config")
	c.Flags().DurationVar(&timeout, "timeout", 20*time.Second, "how long to wait for a sign of life")
	return c
}

func startAgent(ctx context.Context, e *command.Env, agents *service.Agents, row fika.Agent, timeout time.Duration) error {
	before, err := agents.View(ctx, string(row.Name))
	if err != nil {
		return err
	}
	v, err := agents.Start(ctx, row, timeout)
	if err != nil {
		return err
	}
	word := "started"
	if before.PID == v.PID {
		word = "is already running"
	}
	e.Say("%s @%s %s (pid: %d)", e.ErrStyle().Green("✓"), row.Name, word, v.PID)
	return nil
}
