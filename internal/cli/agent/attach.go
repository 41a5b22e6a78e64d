package agent

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fika/internal/agent"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/client"
	"fika/internal/message"
)

func newAttach(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "attach NAME", Short: "watch what an agent does, live",
		Long: `Shows what an agent does as its own terminal would: what it receives, its text
as it comes, its tools and their results. A request that it is working on is
shown from its beginning, as far as its steps are committed. Ctrl-C ends the
watching, never the work.`,
		Example: "  fika agent attach coder", Args: command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Client(cmd.Context())
			if err != nil {
				return err
			}
			return attach(cmd.Context(), e, c, args[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "the status messages as JSON Lines")
	return c
}

func attach(ctx context.Context, e *command.Env, c *client.Client, name string, asJSON bool) error {
	row, err := c.Agents.FindLone(ctx, name)
	if err != nil {
		return err
	}
	if err := c.Agents.MayRead(row); err != nil {
		return err
	}
	statuses, err := c.Agents.Statuses(ctx, row)
	if err != nil {
		return err
	}
	defer statuses.Close()
	v, err := c.Agents.View(ctx, string(row.Name))
	if err != nil {
		return err
	}
	e.Say("%s", e.ErrStyle().Dim(fmt.Sprintf("attached to @%s (%s); ctrl-c leaves, the agent goes on", row.Name, v.Status)))
	if !asJSON {
		if shown := e.Render(false); shown != nil {
			return watchRendered(ctx, c, shown, v, statuses.C)
		}
	}
	view := &attached{display: agent.NewDisplay(e.CleanOut(false)), rounds: map[string]int{}}
	if !asJSON {
		for _, r := range v.Running {
			if err := view.begin(ctx, c.Requests, r); err != nil {
				return err
			}
		}
	}
	for {
		select {
		case <-ctx.Done():
			view.display.Break()
			return nil
		case s := <-statuses.C:
			if asJSON {
				err = e.PrintLine(s)
			} else {
				view.show(s)
				err = e.CheckWritten("")
			}
			if err != nil {
				return err
			}
		}
	}
}

// attached shows requests; rounds are the model rounds of each that were shown
// from the store, so that nothing is shown twice.
type attached struct {
	display *agent.Display
	rounds  map[string]int
}

// begin shows what a running request has committed so far.
func (a *attached) begin(ctx context.Context, requests *client.Requests, r client.RequestInfo) error {
	entries, err := requests.Entries(ctx, r.ID)
	if err != nil {
		return err
	}
	if a.rounds[string(r.ID)], err = requests.ModelRounds(ctx, r.ID); err != nil {
		return err
	}
	a.display.Status(message.Status{
		RequestID: string(r.ID), AgentName: string(r.AgentName), Status: "processing",
		Data: message.StatusData{Kind: string(r.Kind), Prompt: r.Payload.Prompt},
	})
	for _, e := range entries {
		a.display.Entry(e, r.AgentName)
	}
	return nil
}

func (a *attached) show(s message.Status) {
	if s.Status != "completed" && s.Status != "error" && s.Data.Step != 0 && s.Data.Step <= a.rounds[s.RequestID] && s.Status != "tool_result" {
		return // it was shown from the store
	}
	a.display.Status(s)
}
