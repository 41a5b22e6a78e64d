package chat

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/session"
)

func newNew(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "new [NAME]", Short: "create a chat and, on a terminal, join it",
		Long:    "Creates a chat with the given name or a generated one. On a terminal, joins it\n(fika chat join); elsewhere, prints its name.",
		Example: "  fika chat new design", Args: command.AtMostOne("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			conv, err := createChat(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if e.InTTY && e.OutTTY && !asJSON {
				return session.Join(cmd.Context(), e, string(conv.Name), session.JoinOptions{History: 25})
			}
			return printCreated(e, conv, asJSON)
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}
