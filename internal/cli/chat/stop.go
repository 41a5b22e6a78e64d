package chat

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/page"
)

func newStop(e *command.Env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "stop CHAT...", Short: "stop the work in chats: drop what waits, cancel what runs",
		Long:    "Drops what waits in chats, or in every chat with --all, and cancels what runs in\nthem. Messages sent later start new work: to hold it back, use fika chat pause.",
		Example: "  fika chat stop design\n  fika chat stop 'review-*'\n  fika chat stop --all",
		Args:    chatsOrAll(&all), ValidArgsFunction: complete.AnyNumber(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return stopChats(cmd.Context(), e, args, all) },
	}
	c.Flags().BoolVar(&all, "all", false, "every chat")
	return c
}

func stopChats(ctx context.Context, e *command.Env, words []string, all bool) error {
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	var convs []fika.Conversation
	if all {
		if convs, err = c.Chats.Busy(ctx); err != nil {
			return err
		}
		if len(convs) == 0 {
			e.Say("nothing runs or waits in any chat")
		}
	} else if convs, _, err = c.Chats.Match(ctx, words); err != nil {
		return err
	}
	for _, conv := range convs {
		d, err := c.ChatControl.Stop(ctx, conv)
		if err != nil {
			return err
		}
		e.Say("%s: %s", conv.Name, page.Stopped(d))
	}
	return nil
}
