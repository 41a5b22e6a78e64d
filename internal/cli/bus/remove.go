package bus

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/text/hint"
)

func newRemove(e *command.Env) *cobra.Command {
	return command.AcceptYes(&cobra.Command{
		Use: "remove NAME", Short: "revoke a member's right to ask, and its credential",
		Long:    "Removes a member from [[bus_members]]. A running hub disconnects the member at\nonce and no longer accepts its credential; requests that it made before are\nstill worked on.",
		Example: "  fika bus remove build-server", Args: command.Exactly(1, "the name of a member"), ValidArgsFunction: complete.FirstOnly(names(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.RemoveBusMember(args[0]); fika.IsKind(err, fika.NotFound) {
				return fika.WithHint(fika.Errorf(fika.NotFound, "", "member %q not found", args[0]), hint.BusList)
			} else if err != nil {
				return err
			}
			e.Say("removed member %s", args[0])
			return nil
		},
	})
}
