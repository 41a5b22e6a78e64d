package chat

import (
	"context"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newPin(e *command.Env) *cobra.Command {
	return pinning(e, &cobra.Command{
		Use: "pin CHAT MESSAGE...", Short: "keep messages beyond their time to live",
		Long:    "Pinned messages stay after their time to live ([chat] message_ttl) is over, and\nso does the chat. MESSAGE is a number that chat view shows, or an id.",
		Example: "  fika chat pin design 3 7",
	}, true)
}

func pinning(e *command.Env, c *cobra.Command, pinned bool) *cobra.Command {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return command.UsageError("%s takes a chat and the numbers of messages, but got %s; see %s --help", cmd.CommandPath(), command.CountedArgs(len(args)), cmd.CommandPath())
		}
		return nil
	}
	c.ValidArgsFunction = complete.FirstOnly(complete.ChatNames(e))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return setPinned(cmd.Context(), e, args[0], args[1:], pinned)
	}
	return c
}

func setPinned(ctx context.Context, e *command.Env, word string, messages []string, pinned bool) error {
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	conv, err := c.Chats.Find(ctx, word)
	if err != nil {
		return err
	}
	var seqs []int64
	for _, m := range messages { // all are found before any is changed
		seq, err := c.Chats.FindEntry(ctx, conv, m)
		if err != nil {
			return err
		}
		seqs = append(seqs, seq)
	}
	verb := map[bool]string{true: "pinned", false: "no longer pinned"}[pinned]
	for _, seq := range seqs {
		entry, err := c.Chats.Pin(ctx, conv, seq, pinned)
		if err != nil {
			return err
		}
		e.Say("#%d of %s is %s", entry.Seq, conv.Name, verb)
	}
	return nil
}
