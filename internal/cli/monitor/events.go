package monitor

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
)

// eventOptions are the flags of events.
type eventOptions struct {
	*command.Env
	since                          string
	chats, agents, requests, kinds []string
	tree, content, follow, json    bool
}

// NewEvents returns the command fika events.
func NewEvents(e *command.Env) *cobra.Command {
	o := &eventOptions{Env: e}
	c := &cobra.Command{
		Use: "events", Short: "show what was committed, in one order, and follow it",
		Long: `Shows the events of this home: one line for each entry, each change of a
request, a tool call, an approval, a pause, an agent, a conversation, a run of a
workflow, and who may see what. An event has a number, and holds ids, codes and
counts, never text; --content adds the text of entries that are still there.

Every event has a cursor, which --json prints. --since CURSOR shows what came
after it, and no event is left out or shown twice. If that is not possible
(the events were removed with age, the database was restored), the last line is
a reset. Events are kept for 7 days, at most 200,000 of them.`,
		Example: "  fika conversation events --since 0 --kind request\n  fika conversation events --follow --chat design\n  fika conversation events --follow --json --content | jq .entry.content\n" +
			"  fika conversation events --since 1024.1767225600000 --json",
		Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			return o.show(cmd.Context(), c)
		},
	}
	f := c.Flags()
	f.StringVar(&o.since, "since", "", "only what came after this cursor; 0: after none (default with --follow: now)")
	f.StringSliceVar(&o.chats, "chat", nil, "only of this conversation")
	f.StringSliceVar(&o.agents, "agent", nil, "only of this agent")
	f.StringSliceVar(&o.requests, "request", nil, "only of this request")
	f.BoolVar(&o.tree, "tree", false, "with --request: also of the requests that it causes")
	f.StringSliceVar(&o.kinds, "kind", nil, "only these: "+strings.Join(service.EventKinds(), ", "))
	f.BoolVar(&o.content, "content", false, "with the text of entries, up to 64 KiB of each")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on until Ctrl-C")
	command.JSONFlag(c, &o.json)
	_ = c.RegisterFlagCompletionFunc("since", cobra.NoFileCompletions)
	_ = c.RegisterFlagCompletionFunc("chat", complete.ConversationNames(e))
	_ = c.RegisterFlagCompletionFunc("agent", complete.AgentNames(e))
	_ = c.RegisterFlagCompletionFunc("request", complete.RequestIDs(e))
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(service.EventKinds(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// show prints the events. A reset is printed and is an error.
func (o *eventOptions) show(ctx context.Context, c *service.Service) error {
	scope := api.Scope{Conversations: o.chats, Agents: o.agents, Requests: o.requests, Tree: o.tree, Content: o.content}
	for _, kind := range o.kinds {
		scope.Kinds = append(scope.Kinds, api.EventKind(kind))
	}
	read := c.Events
	if o.follow {
		read = c.Watch
	}
	for e, err := range read(ctx, scope, api.Cursor(o.since)) {
		switch {
		case err != nil:
		case o.json:
			err = o.PrintLine(e)
		case e.Kind != api.MarkEvent: // which is for programs
			err = o.Print(eventLine(e))
		}
		if err == nil && e.Kind == api.ResetEvent {
			err = fika.Errorf(fika.Conflict, "events", "what came after %s is not all here: it was removed with age, or the database was restored or is another one; --since 0 shows what is kept", o.since)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eventLine returns an event as a person reads it.
func eventLine(e api.Event) string {
	words := []string{fmt.Sprint(e.N), e.At.Local().Format("15:04:05"), string(e.Kind)}
	if e.N == 0 {
		words[0] = string(e.Cursor)
	}
	if e.Seq > 0 {
		words = append(words, fmt.Sprint(e.Seq))
	}
	if e.State != "" {
		words = append(words, e.State)
	}
	if e.Conversation != "" {
		words = append(words, e.Conversation)
	}
	if e.Agent != "" {
		words = append(words, "@"+e.Agent)
	}
	if e.Request != "" {
		words = append(words, e.Request)
	}
	line := strings.Join(words, " ") + "\n"
	if e.Entry != nil {
		line += "    " + strings.ReplaceAll(strings.TrimSpace(term.Clean(e.Entry.Content)), "\n", "\n    ") + "\n"
	}
	return line
}
