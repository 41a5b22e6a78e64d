package approve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/terminal/term"
)

// inboxTime is how long failed work and mentions stand in the inbox.
const inboxTime = 24 * time.Hour

// item is one thing that needs the person.
type item struct {
	Kind    string    `json:"kind"` // approval, question, mention, failed, held
	Agent   string    `json:"agent,omitempty"`
	At      time.Time `json:"at"`
	What    string    `json:"what"`
	Command string    `json:"command"` // that deals with it
}

// NewInbox returns the command that shows what needs a person.
func NewInbox(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "inbox", Short: "show what needs you: approvals, mentions, failures",
		Long: `Shows what continues only when you do something, with the command for it: tool calls
that wait for your approval, questions of workflows, tasks that are held for a person;
and, of the last day, messages of agents that mention you and that nothing has
followed, and work that failed and was not tried again.`,
		Example: "  fika inbox\n  fika inbox --json | jq -r .command", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := inbox(cmd.Context(), service.Door(c), e.Now())
			if err != nil {
				return err
			}
			if asJSON {
				return command.PrintLines(e, list, func(i item) item { return i })
			}
			if len(list) == 0 {
				e.Say("nothing needs you")
				return nil
			}
			return e.Table([]string{"KIND", "AGENT", "AGE", "WHAT", "COMMAND"}, command.TableRows(list, func(i item) []string {
				return []string{i.Kind, i.Agent, term.Ago(i.At, e.Now()), term.Truncate(term.CleanLine(i.What), 48), i.Command}
			}))
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

// inbox collects what needs the person, the most urgent first.
func inbox(ctx context.Context, to api.Service, now time.Time) ([]item, error) {
	out := []item{}
	st, _, err := to.Look(ctx, api.Scope{})
	if err != nil {
		return nil, err
	}
	for _, a := range st.Approvals {
		kind := "approval"
		if len(a.Choice) > 0 || a.Answer != "" {
			kind = "question"
		}
		out = append(out, item{kind, a.Agent, a.Asked, fmt.Sprintf("%s %s", a.Tool, a.What), fmt.Sprintf("fika approve %d", a.Number)})
	}
	held, err := to.Tasks(ctx, "held", api.Page{Limit: 20})
	if err != nil {
		return nil, err
	}
	for _, t := range held.Items {
		out = append(out, item{"held", t.Agent, t.Since, t.Title, fmt.Sprintf("fika board show %d", t.Number)})
	}
	since := now.Add(-inboxTime)
	mentions, err := to.Mentions(ctx, since)
	if err != nil {
		return nil, err
	}
	for _, m := range mentions {
		out = append(out, item{"mention", m.From, m.At, m.Snippet, "fika chat view " + m.Conversation})
	}
	requests, err := to.Requests(ctx, api.Scope{}, api.Page{Limit: 200})
	if err != nil {
		return nil, err
	}
	followed := map[[2]string]bool{}
	for _, r := range requests.Items { // newest first
		in := [2]string{r.Agent, r.Conversation}
		bad := r.Task == 0 && slices.Contains([]string{"failed", "interrupted", "dead"}, r.State)
		if bad && !followed[in] && r.Ended.After(since) {
			out = append(out, item{"failed", r.Agent, r.Ended, r.Kind + ": " + r.Detail, "fika request retry " + r.ID})
		}
		followed[in] = true
	}
	return out, nil
}
