package approve

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/report/inbox"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

// item is one thing that needs the person.
type item struct {
	Kind    string    `json:"kind"`  // approval question held offer limit agent host landed mention failed
	Agent   string    `json:"agent"` // empty: none
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
that wait for your approval, questions of workflows, tasks and offers that are held for
a person, chats that a limit has stopped, agents that cannot work, hosts that are down
while work waits for them, what has landed and is not in your files; and, of the last day, messages of agents that mention you and that nothing has
followed, and work that failed and was not tried again.`,
		Example: "  fika inbox\n  fika inbox --json | jq -r .command", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := items(cmd.Context(), service.Door(c), e.Now())
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
				return []string{i.Kind, command.OrDash(i.Agent), term.Ago(i.At, e.Now()), term.Truncate(term.CleanLine(i.What), 48), i.Command}
			}))
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

// items returns what needs the person, the most urgent first.
func items(ctx context.Context, to api.Service, now time.Time) ([]item, error) {
	st, _, err := to.Look(ctx, api.Scope{})
	if err != nil {
		return nil, err
	}
	n, err := inbox.Of(ctx, to, st, now)
	if err != nil {
		return nil, err
	}
	out := []item{}
	for _, a := range n.Approvals {
		kind := "approval"
		if len(a.Choice) > 0 || a.Answer != "" {
			kind = "question"
		}
		out = append(out, item{kind, a.Agent, a.Asked, a.Tool + " " + a.What, fmt.Sprintf("fika approve %d", a.Number)})
	}
	for _, t := range n.Held {
		out = append(out, item{"held", t.Agent, t.Since, t.Title, fmt.Sprintf("fika board show %d", t.Number)})
	}
	for _, o := range n.Offers {
		out = append(out, item{"offer", o.Agent, o.Updated, o.State + ": " + cmp.Or(o.Unpushed, o.Reason, o.Waits, o.Title), fmt.Sprintf("fika land show %d", o.Number)})
	}
	for _, c := range n.Limited {
		out = append(out, item{"limit", c.Agent, c.Updated, c.Limit, "fika chat continue " + c.Name})
	}
	for _, a := range n.Troubled {
		out = append(out, item{"agent", a.Name, now, words.Brief(a.Trouble, now), cmp.Or(words.Command(a.Trouble), "fika agent show "+a.Name)})
	}
	for _, h := range n.Hosts {
		var waits []string
		for _, a := range h.Agents {
			waits = append(waits, fmt.Sprintf("@%s: %d", a.Name, a.Waiting))
		}
		for _, o := range h.Offers {
			waits = append(waits, fmt.Sprintf("offer %d", o.Number))
		}
		out = append(out, item{"host", "", h.Seen, h.Name + " is " + h.State + ", and work waits: " + strings.Join(waits, ", "), "fika store host show " + h.Name})
	}
	if n.Landing.Commits > 0 {
		out = append(out, item{"landed", "", now, fmt.Sprintf("%d commits on %s that your files do not have", n.Landing.Commits, n.Landing.Into), "fika land apply"})
	}
	for _, m := range n.Mentions {
		out = append(out, item{"mention", m.From, m.At, m.Snippet, "fika chat view " + m.Conversation})
	}
	for _, r := range n.Failed {
		again := "fika request retry "
		if r.Kind == string(fika.WorkflowRequest) {
			again = "fika workflow resume "
		}
		out = append(out, item{"failed", r.Agent, r.Ended, r.Kind + ": " + cmp.Or(r.Detail, string(r.Error)), again + r.ID})
	}
	return out, nil
}
