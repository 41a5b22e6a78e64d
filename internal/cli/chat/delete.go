package chat

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newDelete(e *command.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete CHAT...", Short: "stop a chat and delete it for good",
		Long:    "Stops the work in a chat, then deletes the chat with everything in it. Asks\nfirst on a terminal; elsewhere --yes is required.",
		Example: "  fika chat delete design --yes", Args: atLeastOneChat, ValidArgsFunction: complete.AnyNumber(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			convs, _, err := c.Chats.Match(ctx, args)
			if err != nil {
				return err
			}
			if !yes {
				var names []string
				for _, c := range convs {
					names = append(names, string(c.Name))
				}
				if err := e.Confirm("delete " + strings.Join(names, ", ") + " with everything in it"); err != nil {
					return err
				}
			}
			var errs []error
			for _, conv := range convs {
				busy, err := c.Chats.Delete(ctx, conv)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				for _, a := range busy {
					e.Warn(fmt.Sprintf("@%s did not stop in time; what it was doing may continue for a moment (fika agent list)", a))
				}
				e.Say("%s is deleted", conv.Name)
			}
			return errors.Join(errs...)
		},
	}
	command.YesFlag(c, &yes, "do not ask")
	return c
}
