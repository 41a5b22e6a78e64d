package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
)

func newAgentStart(e *env) *cobra.Command {
	var all bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "start NAME...", Short: "start agents in the background",
		Long: `Starts agents and returns when each has given a sign of life; when one does
not, says why with the end of its log. An agent started so stays wanted: the
hub starts it again after a crash and after fika down and up, until
fika agent stop. The hub is started if it is not running.`,
		Example: "  fika agent start researcher\n  fika agent start 'test-*'", ValidArgsFunction: several(e.completeAgents),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			agents, list, err := e.agentsFor(ctx, args, all)
			if err != nil {
				return err
			}
			return e.eachAgent(ctx, list, func(row fika.Agent) error { return e.startAgent(ctx, agents, row, timeout) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every agent of the config")
	c.Flags().DurationVar(&timeout, "timeout", 20*time.Second, "how long to wait for a sign of life")
	return c
}

func (e *env) startAgent(ctx context.Context, agents *client.Agents, row fika.Agent, timeout time.Duration) error {
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
		word = "was running already"
	}
	e.say("%s @%s %s (pid: %d)", e.ErrStyle().Green("✓"), row.Name, word, v.PID)
	return nil
}

func newAgentStop(e *env) *cobra.Command {
	var all, finish, now bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "stop NAME...", Short: "stop agents and keep them stopped",
		Long: `Stops agents, those started by hand too. The current step finishes and what an
agent works on is handed back: it goes on when the agent runs again. With
--finish the requests it is working on end first; with --now the current step is
cancelled, and a process that does not end within seconds is killed. A request
that waits itself (for a task given to another agent, for the end of a pause,
for the next hour) does not delay stopping, not even with --finish: it goes on
when the agent runs again. A stopped agent stays so, also after fika down and up
and when work waits for it, until fika agent start.`,
		Example: "  fika agent stop coder\n  fika agent stop --finish --all", ValidArgsFunction: several(e.completeAgents),
		RunE: func(cmd *cobra.Command, args []string) error {
			how, err := manner(finish, now)
			if err != nil {
				return err
			}
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			return e.forAgents(cmd.Context(), c.Agents, args, all, func(row fika.Agent) error {
				return e.stopAgent(cmd.Context(), c.Agents, row, how, timeout)
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&all, "all", false, "every agent")
	f.BoolVar(&finish, "finish", false, "let what it is working on end first")
	f.BoolVar(&now, "now", false, "cancel the current step, and kill what does not end within seconds")
	f.DurationVar(&timeout, "timeout", 0, "how long to wait (default 45s, with --finish as long as it takes)")
	return c
}

// manner is how to stop, as the flags say.
func manner(finish, now bool) (fika.Desired, error) {
	switch {
	case finish && now:
		return "", usageError("--finish and --now exclude each other")
	case finish:
		return fika.DesiredFinish, nil
	case now:
		return fika.DesiredNow, nil
	}
	return fika.DesiredStopped, nil
}

func (e *env) stopAgent(ctx context.Context, agents *client.Agents, row fika.Agent, how fika.Desired, timeout time.Duration) error {
	if timeout == 0 {
		timeout = stopPatience(how)
	}
	before, err := agents.Stop(ctx, row, how, timeout)
	switch {
	case err != nil && ctx.Err() != nil:
		return fika.Errorf(fika.Detached, "", "you stopped waiting; @%s stops when its current work allows", row.Name)
	case err != nil:
		return err
	case !before.Alive():
		e.say("@%s was not running, and stays stopped", row.Name)
	default:
		e.say("%s @%s stopped (pid: %d)", e.ErrStyle().Green("✓"), row.Name, before.PID)
	}
	if v, err := agents.View(ctx, string(row.Name)); err == nil && len(v.Suspended) > 0 {
		e.say("%s", e.ErrStyle().Dim(fmt.Sprintf("@%s: %s waiting for something else, and on hold until it runs again", row.Name, requestsOf(len(v.Suspended)))))
	}
	return nil
}

func newAgentRestart(e *env) *cobra.Command {
	var all, finish, now bool
	c := &cobra.Command{
		Use: "restart NAME...", Short: "stop agents and start them again",
		Long: `Stops agents as fika agent stop does, and starts them as fika agent start
does: so a change of settings takes effect. What an agent was working on goes
on.`,
		Example: "  fika agent restart coder", ValidArgsFunction: several(e.completeAgents),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			how, err := manner(finish, now)
			if err != nil {
				return err
			}
			agents, list, err := e.agentsFor(ctx, args, all)
			if err != nil {
				return err
			}
			return e.eachAgent(ctx, list, func(row fika.Agent) error {
				if v, err := agents.View(ctx, string(row.Name)); err != nil || !v.Entry {
					return errors.Join(err, fika.Errorf(fika.Invalid, "", "@%s has no [[agents]] entry: end it in its terminal and start it there again", row.Name))
				}
				if err := e.stopAgent(ctx, agents, row, how, 0); err != nil {
					return err
				}
				return e.startAgent(ctx, agents, row, 20*time.Second)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every agent")
	c.Flags().BoolVar(&finish, "finish", false, "let what it is working on end first")
	c.Flags().BoolVar(&now, "now", false, "cancel the current step")
	return c
}

func newAgentReset(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "reset NAME...", Short: "let the next ask of an agent start afresh",
		Long:    "Gives agents a new, empty conversation. The old one is kept: fika conversation\nlist shows it, and the master console switches back to it.",
		Example: "  fika agent reset coder", ValidArgsFunction: several(e.completeAgents),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			return e.forAgents(cmd.Context(), c.Agents, args, false, func(row fika.Agent) error {
				_, err := c.Agents.Reset(cmd.Context(), row)
				if err == nil {
					e.say("%s @%s conversation context reset", e.ErrStyle().Green("✓"), row.Name)
				}
				return err
			})
		},
	}
}
