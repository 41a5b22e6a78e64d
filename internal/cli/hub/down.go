package hub

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/settings/folder"
)

// NewDown returns the command fika down.
func NewDown(e *command.Env) *cobra.Command {
	var finish, now bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "down",
		Short: "stop the agents and the hub",
		Long: `Stops every agent after its current step, including those started by hand, and
then the hub. With --finish, the requests under way end first; with --now, the
current steps are cancelled, and a hub or agent that does not answer is killed:
this takes no longer than 10 seconds. Unfinished work waits in the store for the
next fika up. That includes requests that are themselves waiting: for a task
given to another agent, for the end of a pause, for the next hour. --finish does
not wait for those, because nobody begins the work they wait for. While one fika
down waits for requests to finish, another one can be stricter.`,
		Example: "  fika down\n  fika down --finish",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			how, err := command.StopManner(finish, now)
			if err != nil {
				return err
			}
			if timeout == 0 {
				timeout = command.StopPatience(how)
			}
			return TakeDown(cmd.Context(), e, how, timeout)
		},
	}
	c.Flags().BoolVar(&finish, "finish", false, "finish the requests under way first")
	c.Flags().BoolVar(&now, "now", false, "cancel the current steps, and kill what does not end within seconds")
	c.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait (default 45s, with --finish as long as it takes)")
	return c
}

// downLeft ends the agents that a killed hub left running.
func downLeft(ctx context.Context, e *command.Env, how fika.Desired, timeout time.Duration) error {
	e.Say("no hub is running")
	sayElsewhere(e)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	names, err := service.HubOf(e.App()).EndOrphans(ctx, how)
	sayLeaving(e, names)
	return err
}

// sayElsewhere names the other homes of this person in which a hub runs.
func sayElsewhere(e *command.Env) {
	here, err := e.App().Root()
	if err != nil {
		return
	}
	for _, root := range folder.KnownHomes("", e.Getenv) {
		if p, up := folder.HomeAt(root).HubProcess(); up && root != here {
			e.Say("one runs for %s (pid %d): fika down --home %s", root, p.PID, root)
		}
	}
}

func sayLeaving(e *command.Env, names []fika.AgentName) {
	for _, n := range names {
		e.Say("@%s did not stop in time and was killed", n)
	}
}

// TakeDown ends the hub and all agents in the given way, and waits for them for at most
// timeout. If no hub runs, it ends the agents that a killed hub left running.
func TakeDown(ctx context.Context, e *command.Env, how fika.Desired, timeout time.Duration) error {
	h := service.HubOf(e.App())
	p, up, err := h.Process()
	if err != nil {
		return err
	}
	if !up {
		return downLeft(ctx, e, how, timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	killed, left, err := h.End(ctx, p, how)
	if killed {
		e.Warn(fmt.Sprintf("the hub (pid %d) did not end and was killed; nothing that was accepted is lost", p.PID))
	}
	sayLeaving(e, left)
	if err != nil {
		return err
	}
	e.Say("hub down")
	sayLeft(e)
	return nil
}

// sayLeft says how many requests are not finished. This is only information: if it
// cannot be found out, fika down has not failed.
func sayLeft(e *command.Env) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := e.ServiceOffline(ctx)
	if err != nil {
		return
	}
	list, err := c.Requests.List(ctx, service.RequestFilter{States: []fika.RequestState{fika.Open, fika.Waiting}})
	if err == nil && len(list) > 0 {
		goOn := "they go on"
		if len(list) == 1 {
			goOn = "it continues"
		}
		e.Say("%s", e.ErrStyle().Dim(fmt.Sprintf("%s not finished: after the next fika up %s (fika request list --state open, or waiting)", command.CountRequests(len(list)), goOn)))
	}
}
