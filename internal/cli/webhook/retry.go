package webhook

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/text/hint"
)

func newRetry(e *command.Env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "retry [ID]", Short: "send refused events again, and try receivers at once that fail",
		Long:    "Has the hub send an event again that its receiver has refused, or all of them,\nunder the ids that they had. Receivers that are waited for are tried at once.",
		Example: "  fika web webhook retry evt_4f1c2a\n  fika web webhook retry --all",
		Args:    command.AtMostOne("the id of an event"), ValidArgsFunction: offerRefused(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := command.OptionalArg(args)
			if all == (id != "") {
				return command.UsageError("name the id of one event that was refused (%s shows them), or give --all", hint.WebhookList)
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			n, err := c.Webhooks().Retry(cmd.Context(), id)
			if err != nil {
				return err
			}
			if n == 0 {
				e.Say("no event was refused; receivers that fail are tried at once")
				return nil
			}
			e.Say("%s sent again by the hub", command.Plural(n, "event"))
			return nil
		},
	}
	c.Flags().BoolVar(&all, "all", false, "all events that were refused")
	return c
}
