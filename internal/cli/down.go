package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
	"fika/internal/process"
)

func newDown(e *env) *cobra.Command {
	var finish, now bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "down",
		Short: "stop the agents and the hub",
		Long: `Stops every agent after its current step, those started by hand too, and then
the hub. With --finish the requests that agents are working on end first; with
--now the current steps are cancelled, and a hub or agent that does not answer is
killed: it takes no longer than 10 seconds. What is not finished waits in the store
for the next fika up. That includes requests that wait themselves: for a task
given to another agent, for the end of a pause, for the next hour. --finish does
not wait for those, because nobody begins the work they wait for. A fika down
while another waits for requests to finish is stricter.`,
		Example: "  fika down\n  fika down --finish",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			how, err := manner(finish, now)
			if err != nil {
				return err
			}
			if timeout == 0 {
				timeout = stopPatience(how)
			}
			return e.down(cmd.Context(), how, timeout)
		},
	}
	c.Flags().BoolVar(&finish, "finish", false, "let what agents are working on end first")
	c.Flags().BoolVar(&now, "now", false, "cancel the current steps, and kill what does not end within seconds")
	c.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait (default 45s, with --finish as long as it takes)")
	return c
}

// downLeft ends the agents of a hub that was killed.
func (e *env) downLeft(ctx context.Context, how fika.Desired, timeout time.Duration) error {
	e.say("no hub is running")
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	names, err := client.HubOf(e.open()).EndOrphans(ctx, how)
	e.sayLeaving(names)
	return err
}

func (e *env) sayLeaving(names []fika.AgentName) {
	for _, n := range names {
		e.say("@%s was still there, and was ended", n)
	}
}

func (e *env) down(ctx context.Context, how fika.Desired, timeout time.Duration) error {
	h := client.HubOf(e.open())
	p, up, err := h.Process()
	if err != nil {
		return err
	}
	if !up {
		return e.downLeft(ctx, how, timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	killed, left, err := h.End(ctx, p, how)
	if killed {
		e.warn(fmt.Sprintf("the hub (pid %d) did not end and was killed; nothing that was accepted is lost", p.PID))
	}
	e.sayLeaving(left)
	if err != nil {
		return err
	}
	e.say("hub down")
	e.sayLeft()
	return nil
}

// sayLeft tells how much is not finished. It is only told: that it cannot be
// found out is no failure of what went before.
func (e *env) sayLeft() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := client.Offline(ctx, e.open())
	if err != nil {
		return
	}
	list, err := c.Requests.List(ctx, client.RequestFilter{States: []fika.RequestState{fika.Open, fika.Waiting}})
	if err == nil && len(list) > 0 {
		e.say("%s", e.ErrStyle().Dim(fmt.Sprintf("%s not finished: after the next fika up they go on (fika request list --state open, or waiting)", requestsOf(len(list)))))
	}
}

func requestsOf(n int) string {
	if n == 1 {
		return "1 request is"
	}
	return fmt.Sprintf("%d requests are", n)
}

// stopPatience is how long a command waits for a process to end in some way.
func stopPatience(how fika.Desired) time.Duration {
	if how == fika.DesiredFinish {
		return 24 * time.Hour
	}
	return 45 * time.Second
}

// stopsBySignal lets the signals of [process.StopSignal] end a process, beside
// those that end every command. give is called with a function that takes what
// they then call; before that has come they end ctx. release ends the hearing.
func stopsBySignal(ctx context.Context, give func(take func(func(fika.Desired)))) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex
	end := func(fika.Desired) { cancel() }
	give(func(f func(fika.Desired)) {
		mu.Lock()
		defer mu.Unlock()
		end = f
	})
	ways := map[os.Signal]fika.Desired{}
	signals := make(chan os.Signal, 4)
	for _, how := range []fika.Desired{fika.DesiredFinish, fika.DesiredNow} {
		ways[process.StopSignal(how)] = how
		signal.Notify(signals, process.StopSignal(how))
	}
	done := make(chan struct{})
	go func() { // joined by release
		defer close(done)
		for s := range signals {
			mu.Lock()
			f := end
			mu.Unlock()
			f(ways[s])
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-done
		cancel()
	}
}
