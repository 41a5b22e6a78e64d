package chat

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

func newRename(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "rename OLD NEW", Short: "rename a chat",
		Long: `Gives a chat another name, and says so in the chat. Work in it continues, and
whoever has joined or follows it stays. The command names schedules and budgets
that use the old name: they do not follow.

fika alone opens the newest chat whose name begins with s-: to be found this
way, a session must keep the s-.`,
		Example: "  fika chat rename brisk-otter design\n  fika chat rename s-20260301-101500 s-checkout",
		Args:    command.Exactly(2, "the old and the new name"), ValidArgsFunction: complete.FirstOnly(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			conv, err := c.Chats.Find(ctx, args[0])
			if err != nil {
				return err
			}
			if e.Key == "" && strings.EqualFold(args[1], string(conv.Name)) {
				return command.UsageError("that is its name already")
			}
			now, err := c.Chats.Rename(ctx, conv, args[1])
			if err != nil {
				return err
			}
			e.Say("renamed chat %q to %q", conv.Name, now.Name)
			for _, m := range now.Settings {
				e.Warn(fmt.Sprintf("%s means %q, which is not a chat now: change it at %s", m.What, conv.Name, m.At))
			}
			if service.IsSessionName(conv.Name) && !service.IsSessionName(now.Name) {
				e.Say("it is no longer a session; fika chat join %s enters it", now.Name)
			}
			return nil
		},
	}
}
