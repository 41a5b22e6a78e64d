package cli

import (
	"github.com/spf13/cobra"
)

// optionalArg is the only argument of a command, or "".
func optionalArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError("%s takes at most %s, but got %s; see %s --help", cmd.CommandPath(), what, counted(len(args)), cmd.CommandPath())
		}
		return nil
	}
}

func newChatNew(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "new [NAME]", Short: "make a chat, and enter it on a terminal",
		Long:    "Makes a chat with the given or a generated name. On a terminal it is entered\n(fika chat join); elsewhere its name is printed.",
		Example: "  fika chat new design", Args: atMostOne("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			conv, err := c.Chats.Create(cmd.Context(), optionalArg(args))
			if err != nil {
				return err
			}
			if e.InTTY && e.OutTTY {
				return e.join(cmd.Context(), string(conv.Name), joinOptions{history: 25})
			}
			return e.println(conv.Name)
		},
	}
}

func newChatCreate(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "create [NAME]", Short: "make a chat and print its name", Example: "  fika chat create design", Args: atMostOne("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			conv, err := c.Chats.Create(cmd.Context(), optionalArg(args))
			if err != nil {
				return err
			}
			return e.println(conv.Name)
		},
	}
}
