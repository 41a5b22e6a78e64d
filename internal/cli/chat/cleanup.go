package chat

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newCleanup(e *command.Env) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "cleanup", Short: "remove expired messages, and empty chats older than a day",
		Long: `Removes, all at once or not at all, messages whose time to live ([chat]
message_ttl) is over, and chats that have been empty for a day, whether nothing
was said in them or nothing is left; prints the names of those chats. Pinned
messages stay, and so does everything in a chat where a turn is under way. The
hub does the same every hour.`,
		Example: "  fika chat cleanup --dry-run", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			r, err := c.Chats.Cleanup(cmd.Context(), dry)
			if err != nil {
				return err
			}
			verb := "removed"
			if dry {
				verb = "would be removed"
			}
			e.Say("%d expired entries and %d empty chats %s", r.Expired, len(r.Chats), verb)
			for _, n := range r.Chats {
				_ = e.Println(n)
			}
			return e.CheckWritten("")
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only report what would be removed")
	return c
}
