package chat

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/page"
	"fika/internal/service"
)

func newContinue(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "continue CHAT", Short: "continue a chain that a limit ended", Example: "  fika chat continue design",
		Long: `Resumes what a limit has stopped in a chat, or in a chain that began there, with
fresh counters. It may reach a limit again, and be continued again. fika chat
limit shows and sets the limits.`,
		Args: command.Exactly(1, "the name of a chat"), ValidArgsFunction: complete.FirstOnly(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var conv fika.Conversation
			c, err := e.ServiceFor(ctx, func(c *service.Service) (err error) { conv, err = c.Chats.FindAnyKind(ctx, args[0]); return err })
			if err != nil {
				return err
			}
			agents, err := c.ChatControl.Continue(ctx, conv)
			if err != nil {
				return err
			}
			e.Say("resumed %s (%s)", conv.Name, page.Mentions(agents))
			return nil
		},
	}
}
