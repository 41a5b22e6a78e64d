package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

func newStop(e *command.Env) *cobra.Command {
	var all, finish, now bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "stop NAME...", Short: "stop agents and keep them stopped",
		Long: `Stops agents, including those started by hand. The current step finishes, and
unfinished work is handed back: it continues when the agent runs again. With
--finish, the requests under way end first; with --now, the current step is
cancelled, and a process that does not end within seconds is killed. A request
that is itself waiting (for a task given to another agent, for the end of a
pause, for the next hour) does not delay the stop, even with --finish: it
continues when the agent runs again. A stopped agent stays stopped until fika
agent start, even after fika down and up and when work waits for it.`,
		Example: "  fika agent stop coder\n  fika agent stop --finish --all", ValidArgsFunction: complete.AnyNumber(complete.AgentNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			how, err := command.StopManner(finish, now)
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := namedMembers(cmd.Context(), c.Agents, args, all)
			if err != nil {
				return err
			}
			return eachAgent(cmd.Context(), e, list, func(row fika.Agent) error {
				return stopAgent(cmd.Context(), e, c.Agents, row, how, timeout, ", and stays stopped")
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&all, "all", false, "every agent")
	f.BoolVar(&finish, "finish", false, "finish the requests under way first")
	f.BoolVar(&now, "now", false, "cancel the current step, and kill what does not end within seconds")
	f.DurationVar(&timeout, "timeout", 0, "how long to wait (default 45s, with --finish as long as it takes)")
	return c
}

// stopAgent stops an agent and says so. idle follows what it says about an agent that was
// not running.
func stopAgent(ctx context.Context, e *command.Env, agents *service.Agents, row fika.Agent, how fika.Desired, timeout time.Duration, idle string) error {
	if timeout == 0 {
		timeout = command.StopPatience(how)
	}
	before, err := agents.Stop(ctx, row, how, timeout)
	switch {
	case err != nil && ctx.Err() != nil:
		return fika.Errorf(fika.Detached, "", "you stopped waiting; @%s stops when its current work allows", row.Name)
	case err != nil:
		return err
	case !before.Alive():
		e.Say("@%s was not running%s", row.Name, idle)
	default:
		e.Say("%s @%s stopped (pid: %d)", e.ErrStyle().Green("✓"), row.Name, before.PID)
	}
	if v, err := agents.View(ctx, string(row.Name)); err == nil && len(v.Suspended) > 0 {
		e.Say("%s", e.ErrStyle().Dim(fmt.Sprintf("@%s: %s waiting for something else, and on hold until it runs again", row.Name, command.CountRequests(len(v.Suspended)))))
	}
	return nil
}
