package request

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newCancel(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "cancel REQUEST...", Short: "cancel requests", Example: "  fika request cancel 01a1fd6e", Args: command.AtLeastOne("the ids of requests"), ValidArgsFunction: complete.AnyNumber(complete.RequestIDs(e, fika.UnfinishedStates()...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context()) // a command that stops work starts no hub
			if err != nil {
				return err
			}
			for _, id := range args {
				r, err := c.Requests.Cancel(cmd.Context(), fika.RequestID(id), "")
				if err != nil {
					return err
				}
				switch {
				case r.State == fika.Cancelled:
					e.Say("request %s is cancelled", r.ID)
				case r.State.Terminal():
					e.Say("request %s had ended already: %s", r.ID, r.State)
				default:
					e.Say("request %s is asked to stop", r.ID)
				}
			}
			return nil
		},
	}
}
