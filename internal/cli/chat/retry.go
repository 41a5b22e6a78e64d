package chat

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/text/hint"
)

func newRetry(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "retry CHAT [AGENT]", Short: "retry what failed in a chat",
		Long: `Lets each turn of the chat that waits for its model's provider ask again at once,
and makes a new request for each turn of the chat that failed, was interrupted or
died, with the messages it had to answer; prints the ids of the requests;
with AGENT, only for turns of that agent. fika chat queue shows what is dead.
The exit status is 3 if there is nothing to retry.`,
		Example: "  fika chat retry design\n  fika chat retry design coder",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return command.UsageError("%s takes a chat and perhaps an agent, but got %s; see %s --help", cmd.CommandPath(), command.CountedArgs(len(args)), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: complete.InOrder(complete.ChatNames(e), complete.AgentsOfChat(e)),
		RunE:              func(cmd *cobra.Command, args []string) error { return chatRetry(cmd.Context(), e, args) },
	}
}

func chatRetry(ctx context.Context, e *command.Env, args []string) error {
	var conv fika.Conversation
	var only fika.Agent
	c, err := e.ServiceFor(ctx, func(c *service.Service) (err error) {
		if conv, err = c.Chats.Find(ctx, args[0]); err == nil && len(args) == 2 {
			only, err = c.Agents.FindKnown(ctx, args[1])
		}
		return err
	})
	if err != nil {
		return err
	}
	tried, err := c.Chats.Retry(ctx, conv, only.ID)
	for _, r := range tried {
		e.Say("%s", page.Retried(r))
		if err := e.Println(r.Request); err != nil {
			return err
		}
	}
	if err != nil || len(tried) > 0 {
		return err
	}
	if only.Name != "" {
		return fika.WithHint(fika.Errorf(fika.NotFound, "", "nothing of @%s is dead in %q", only.Name, conv.Name), hint.ChatQueue.With(conv.Name))
	}
	return fika.WithHint(fika.Errorf(fika.NotFound, "", "nothing is dead in %q", conv.Name), hint.ChatQueue.With(conv.Name))
}
