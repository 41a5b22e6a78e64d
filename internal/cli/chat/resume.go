package chat

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newResume(e *command.Env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "resume CHAT...", Short: "resume paused chats",
		Long:    "Ends the pause of chats, including one held by somebody who joined with --pause.",
		Example: "  fika chat resume design\n  fika chat resume --all",
		Args:    chatsOrAll(&all), ValidArgsFunction: complete.AnyNumber(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return setPaused(cmd.Context(), e, args, all, false) },
	}
	c.Flags().BoolVar(&all, "all", false, "resume everything")
	return c
}
