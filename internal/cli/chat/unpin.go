package chat

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newUnpin(e *command.Env) *cobra.Command {
	return pinning(e, &cobra.Command{
		Use: "unpin CHAT MESSAGE...", Short: "let pinned messages expire again",
		Long:    "Undoes fika chat pin. Messages that would have expired meanwhile disappear at\nonce.",
		Example: "  fika chat unpin design 3",
	}, false)
}
