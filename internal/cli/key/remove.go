package key

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newRemove(e *command.Env) *cobra.Command {
	return command.AcceptYes(&cobra.Command{
		Use: "remove NAME", Short: "forget a stored key", Example: "  fika key remove OPENAI_API_KEY", Args: command.Exactly(1, "the name of a key"),
		ValidArgsFunction: complete.FirstOnly(complete.KeyNames(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := e.App().Keys()
			if err == nil {
				err = f.Remove(args[0])
			}
			if err == nil {
				e.Say("removed %s", args[0])
			}
			return err
		},
	})
}
