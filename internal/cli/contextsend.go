package cli

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
	"fika/internal/worker"
)

func newContextSend(e *env) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use: "send NAME MESSAGE...", Short: "put a message into a context's conversation",
		Long: `Puts a message into the ongoing conversation of a context, prints its seq and
returns. The next turn there reads it; the files of the context have it at once.
An agent with an [[agents]] entry is woken by it, a mere context is not.

It is what agents do with the tool send_message. In a tool it is the agent that
speaks, as itself.

` + exitHelp,
		Example: "  fika context send coffee-table \"lunch is at noon\"\n  go test ./... | fika context send review \"what do you make of this?\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("%s takes a context and a message; see --help", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: first(e.completeContexts),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			text, err := e.readPrompt(args[1:])
			if err != nil {
				return err
			}
			return e.contextSend(cmd.Context(), name, text, as)
		},
	}
	c.Flags().StringVar(&as, "as", "", "name to speak as (default: your username)")
	return c
}

func (e *env) contextSend(ctx context.Context, name fika.AgentName, text, as string) error {
	c, err := e.senderTo(ctx, name)
	if err != nil {
		return err
	}
	posted, err := c.SendToContext(ctx, name, text, client.Alias{Name: as, Option: "--as"})
	if err == nil {
		err = worker.CatchUp(ctx, e.open(), name)
	}
	if err != nil {
		return err
	}
	if posted.Paused {
		e.say("%s is paused: it reads this when it is resumed", name)
	}
	return e.println(posted.Entry.Seq)
}

// senderTo is a client for a message to a context: with a hub, if there is
// somebody to wake.
func (e *env) senderTo(ctx context.Context, name fika.AgentName) (*client.Client, error) {
	c, err := e.open().Config()
	if err != nil {
		return nil, err
	}
	if c.Agent(name) == nil {
		return e.reader(ctx)
	}
	return e.client(ctx)
}
