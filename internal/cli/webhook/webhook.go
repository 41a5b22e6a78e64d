package webhook

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

// New returns the command fika webhook.
func New(e *command.Env) *cobra.Command {
	return command.Group("webhook", "list receivers of events; send again what they refused",
		`The hub posts events to the receivers that [[webhooks]] in config.toml names, each
at least once, in order and signed. While a receiver does not answer, its events
wait; what it refuses is listed here.`,
		"  fika web webhook list\n  fika web webhook retry --all", newList(e), newRetry(e))
}

// offerRefused completes the ids of events that were refused.
func offerRefused(e *command.Env) cobra.CompletionFunc {
	return complete.FirstOnly(func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.Service(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		list, err := c.Webhooks().List(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		for _, w := range list {
			for _, v := range w.Refused {
				out = append(out, complete.WithAbout(v.ID, v.URL+": "+v.Error))
			}
		}
		return out, complete.NoFiles
	})
}
