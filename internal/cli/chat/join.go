package chat

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/session"
)

func newJoin(e *command.Env) *cobra.Command {
	var o session.JoinOptions
	c := &cobra.Command{
		Use: "join CHAT", Aliases: []string{"open"}, Short: "take part in a chat: read along, type, steer",
		Long: `Shows the last messages, then new ones as they arrive, and sends what you type.
New messages never disturb the line you are typing. Leaving changes nothing: the
conversation continues.

--pause holds the chat until you leave: running steps finish, nothing new
begins, and new messages wait. If your terminal dies, or this program is killed,
the hub resumes the chat 15 seconds later, with a notice in it; without a hub,
that happens when the next one starts. A chat that was already paused stays
paused.

--as NAME speaks under another name, as fika chat send does.

` + session.Help(80),
		Example: "  fika chat join design\n  fika chat join design --pause\n  fika chat join design --as bob",
		Args:    command.Exactly(1, "the name of a chat"), ValidArgsFunction: complete.FirstOnly(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return session.Join(cmd.Context(), e, args[0], o) },
	}
	command.LimitFlag(c, &o.History, 25, "how many of the last messages to show first")
	c.Flags().BoolVar(&o.Pause, "pause", false, "hold the chat until you leave")
	c.Flags().StringVar(&o.As, "as", "", "name to speak as (default: your username)")
	return c
}
