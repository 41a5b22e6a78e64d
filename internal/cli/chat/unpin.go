package chat

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newUnpin(e *command.Env) *cobra.Command {
	return pinning(e, &cobra.Command{
		Use: "unpin CHAT MESSAGE...", Short: "let pinned messages expire again",
		Long:    "Takes fika chat pin back. What should have expired meanwhile is gone at once.",
		Example: "  fika chat unpin design 3",
	}, false)
}
