package chat

import (
	"fmt"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newClear(e *command.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "clear CHAT...", Short: "make agents forget what was said so far; the entries stay",
		Long:    "Adds a compaction with an empty summary to the chat: agents no longer see what\nwas said before it; people still do.",
		Example: "  fika chat clear design", Args: atLeastOneChat, ValidArgsFunction: complete.AnyNumber(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			convs, wild, err := c.Chats.Match(ctx, args)
			if err != nil {
				return err
			}
			if (wild || len(convs) > 1) && !yes {
				if err := e.Confirm(fmt.Sprintf("clear %d chats", len(convs))); err != nil {
					return err
				}
			}
			for _, conv := range convs {
				if err := c.Chats.Clear(ctx, conv); err != nil {
					return err
				}
				e.Say("%s is cleared", conv.Name)
			}
			return nil
		},
	}
	command.YesFlag(c, &yes, "do not ask")
	return c
}
