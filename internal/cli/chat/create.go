package chat

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
)

func newCreate(e *command.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "create [NAME]", Short: "create a chat and print its name", Example: "  fika chat create design", Args: command.AtMostOne("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			conv, err := createChat(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			return printCreated(e, conv, asJSON)
		},
	}
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

type createdJSON struct {
	Name      fika.ConversationName `json:"name"`
	CreatedAt *time.Time            `json:"created_at"`
}

// printCreated prints the name of a new chat.
func printCreated(e *command.Env, conv fika.Conversation, asJSON bool) error {
	if asJSON {
		return e.PrintLine(createdJSON{conv.Name, command.JSONTime(conv.CreatedAt)})
	}
	return e.Println(conv.Name)
}

// createChat makes the chat that the arguments name, or one with a generated name if
// there are none.
func createChat(ctx context.Context, c *service.Service, args []string) (fika.Conversation, error) {
	if len(args) == 0 {
		return c.Chats.CreateUnnamed(ctx)
	}
	return c.Chats.Create(ctx, args[0])
}
