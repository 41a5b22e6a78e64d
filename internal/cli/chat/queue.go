package chat

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/chat"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newQueue(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "queue [CHAT...]", Short: "show what runs, what waits and why, what failed or was dropped",
		Long: `Shows the work of chats; without a name, of every chat that has any. Works
without a hub.

  running   an agent works on it; WHY says what it is doing
  waiting   it continues by itself: the agent takes it next, is busy elsewhere,
            is being started, or waits for what it delegated
  held      something has to change first: the chat or everything is paused, the
            agent was stopped by hand, failed, has no process and is not started
            by itself, has a turn here already, or rests until its hour is over
  dead      the turn failed; fika chat retry tries again
  dropped   nobody will work on it: a limit, fika chat stop, or its time to live.
            Shown for a day; what a limit dropped, until fika chat continue

fika chat why explains the same for one message and one agent.`,
		Example: "  fika chat queue design\n  fika chat queue --json | jq -r 'select(.state==\"dead\").chat'",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: complete.AnyNumber(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return showQueue(cmd.Context(), e, args, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func showQueue(ctx context.Context, e *command.Env, words []string, asJSON bool) error {
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	items, err := queueOf(ctx, c, words)
	if err != nil {
		return err
	}
	where, err := c.Hosts().Where(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return command.PrintLines(e, items, func(i service.QueueItem) itemJSON { return toItemJSON(i, where, e.Now()) })
	}
	if len(items) == 0 {
		e.Say("nothing runs, nothing waits")
		return nil
	}
	now, several := e.Now(), len(words) != 1 || strings.ContainsAny(words[0], "*?[")
	headers, at := []string{"AGENT", "STATE", "SINCE", "MESSAGES", "WHY"}, 1
	if several {
		headers, at = append([]string{"CHAT"}, headers...), 2
	}
	return e.Table(command.WithHosts(where, at, headers, items, func(i service.QueueItem) fika.AgentName { return i.Agent }, func(i service.QueueItem) []string {
		row := []string{"@" + string(i.Agent), string(i.Place), term.Ago(i.Since, now), page.SeqList(i.Seqs), term.CleanLine(page.Reason(i, now))}
		if several {
			row = append([]string{string(i.Chat)}, row...)
		}
		return row
	}))
}

func queueOf(ctx context.Context, c *service.Service, words []string) ([]service.QueueItem, error) {
	if len(words) == 0 {
		return c.Chats.Queue(ctx, "")
	}
	convs, _, err := c.Chats.Match(ctx, words)
	if err != nil {
		return nil, err
	}
	var all []service.QueueItem
	for _, conv := range convs {
		items, err := c.Chats.Queue(ctx, conv.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, nil
}

type itemJSON struct {
	Chat    fika.ConversationName `json:"chat"`
	Agent   fika.AgentName        `json:"agent"`
	State   chat.Place            `json:"state"`
	Why     string                `json:"why"`
	Code    api.Code              `json:"code"`
	Text    string                `json:"text"`
	Request *fika.RequestID       `json:"request"`
	Seqs    []int64               `json:"messages"`
	Since   time.Time             `json:"since"`
	Until   *time.Time            `json:"until"`
	Stuck   bool                  `json:"stuck"` // it waits for a person
	Host    *string               `json:"host"`  // that the agent is on; null: there is only one
}

func toItemJSON(i service.QueueItem, where service.Where, now time.Time) itemJSON {
	if i.Seqs == nil {
		i.Seqs = []int64{}
	}
	return itemJSON{i.Chat, i.Agent, i.Place, i.Why(), i.Status.Code, page.Reason(i, now), command.Optional(i.Request), i.Seqs, i.Since.UTC(), command.JSONTime(i.Status.Until), i.Stuck(), command.Optional(where[i.Agent])}
}
