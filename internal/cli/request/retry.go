package request

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// requestsFor returns a service with a hub for requests. If one of them does not exist,
// it fails before it starts a hub.
func requestsFor(ctx context.Context, e *command.Env, ids []string) (*service.Service, error) {
	return e.ServiceFor(ctx, func(c *service.Service) error {
		for _, id := range ids {
			if _, err := c.Requests.Request(ctx, fika.RequestID(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

func newRetry(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "retry REQUEST", Short: "make a new request from one that did not end well", Example: "  fika request retry 01a1fd6e", Args: command.Exactly(1, "a request id"), ValidArgsFunction: complete.FirstOnly(complete.RequestIDs(e, fika.RequestFailed, fika.Cancelled, fika.StateInterrupted, fika.Dead)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := requestsFor(cmd.Context(), e, args)
			if err != nil {
				return err
			}
			id, err := c.Requests.Retry(cmd.Context(), fika.RequestID(args[0]))
			if err != nil {
				return err
			}
			return e.Println(id)
		},
	}
}
