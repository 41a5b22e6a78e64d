package chat

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/text/hint"
)

func newWait(e *command.Env) *cobra.Command {
	var timeout time.Duration
	var idle, asJSON bool
	c := &cobra.Command{
		Use: "wait CHAT", Short: "wait until nothing runs or waits in a chat",
		Long: `Returns with exit status 0 when nothing runs and nothing waits in the chat.
Turns that failed, and work that a limit or a stop ended, count as over: stderr
reports them (fika chat retry and fika chat continue resume them).

Held work is not at rest. If only a person can release it, because the chat is
paused, an agent was stopped by hand, or nobody starts one, stderr says so at
once, and the command keeps waiting for somebody to do it. With --timeout the
exit status is 7 if the chat is still not at rest by then. Works without a hub.

` + command.ExitHelp,
		Example: "  fika chat wait design --until-idle --timeout 10m\n  fika chat view design",
		Args:    command.Exactly(1, "the name of a chat"), ValidArgsFunction: complete.FirstOnly(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !idle {
				return command.UsageError("there is nothing else to wait for than --until-idle; see %s --help", cmd.CommandPath())
			}
			return wait(cmd.Context(), e, args[0], timeout, asJSON)
		},
	}
	c.Flags().BoolVar(&idle, "until-idle", true, "wait until nothing runs and nothing waits; so far the only thing to wait for")
	c.Flags().DurationVar(&timeout, "timeout", 0, "stop waiting after this long")
	command.JSONFlag(c, &asJSON)
	return c
}

type waitedJSON struct {
	Chat  fika.ConversationName `json:"chat"`
	Idle  bool                  `json:"idle"`
	Items []itemJSON            `json:"items"` // under way, failed or dropped
}

func wait(ctx context.Context, e *command.Env, word string, timeout time.Duration, asJSON bool) error {
	if timeout < 0 {
		return command.UsageError("--timeout is a span of time such as 10m, not %s", timeout)
	}
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	conv, err := c.Chats.Find(ctx, word)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithCancel(ctx)
	if timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	items, err := c.Chats.AwaitIdle(waiting, conv, func(stuck []service.QueueItem) {
		for _, i := range stuck {
			e.Warn(fmt.Sprintf("%s is blocked: %s", conv.Name, itemLine(e, i)))
		}
	})
	if asJSON && (err == nil || waiting.Err() != nil) {
		where, err := c.Hosts().Where(ctx)
		if err != nil {
			return err
		}
		out := waitedJSON{conv.Name, waiting.Err() == nil, []itemJSON{}}
		for _, i := range items {
			out.Items = append(out.Items, toItemJSON(i, where, e.Now()))
		}
		if err := e.PrintLine(out); err != nil {
			return err
		}
	}
	if waiting.Err() != nil {
		left := 0
		for _, i := range items {
			if !i.IsOver() {
				left++
				e.Say("%s", itemLine(e, i))
			}
		}
		return fika.WithHint(fika.Errorf(fika.Detached, "", "you stopped waiting; %s is still busy: %d under way", conv.Name, left), hint.ChatQueue.With(conv.Name))
	}
	if err != nil {
		return err
	}
	for _, i := range items {
		e.Warn(itemLine(e, i))
	}
	return nil
}

func itemLine(e *command.Env, i service.QueueItem) string {
	return fmt.Sprintf("@%s %s %s: %s", i.Agent, i.Place, page.SeqList(i.Seqs), page.Reason(i, e.Now()))
}
