package chat

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newCreate(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "create [NAME]", Short: "make a chat and print its name", Example: "  fika chat create design", Args: command.AtMostOne("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Client(cmd.Context())
			if err != nil {
				return err
			}
			conv, err := c.Chats.Create(cmd.Context(), command.OptionalArg(args))
			if err != nil {
				return err
			}
			return e.Println(conv.Name)
		},
	}
}
