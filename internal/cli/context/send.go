package context

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/worker"
)

func newSend(e *command.Env) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use: "send NAME MESSAGE...", Short: "put a message into a context's conversation",
		Long: `Puts a message into the ongoing conversation of a context, prints its seq and
returns. The next turn there reads the message; the context's files hold it at
once. The message wakes an agent that has an [[agents]] entry, but not a mere
context.

Agents do the same with the tool send_message. Inside a tool the sender is the
agent itself.

` + command.ExitHelp,
		Example: "  fika context send coffee-table \"lunch is at noon\"\n  go test ./... | fika context send review \"what do you make of this?\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.UsageError("%s takes a context and a message; see --help", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: complete.FirstOnly(complete.ContextNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			text, err := e.ReadPrompt("fika context send "+command.ShellWord(args[0]), args[1:])
			if err != nil {
				return err
			}
			return send(cmd.Context(), e, name, text, as)
		},
	}
	c.Flags().StringVar(&as, "as", "", "name to speak as (default: your username)")
	return c
}

func send(ctx context.Context, e *command.Env, name fika.AgentName, text, as string) error {
	c, err := senderTo(ctx, e, name)
	if err != nil {
		return err
	}
	posted, err := c.SendToContext(ctx, name, text, service.Alias{Name: as, Option: "--as"})
	if err == nil {
		err = worker.CatchUp(ctx, e.App(), name)
	}
	if err != nil {
		return err
	}
	if posted.Paused {
		e.Say("%s is paused: it reads this when it is resumed", name)
	}
	return e.Println(posted.Entry.Seq)
}

// senderTo returns a service for a message to a context, with a hub if there is an agent
// to wake.
func senderTo(ctx context.Context, e *command.Env, name fika.AgentName) (*service.Service, error) {
	c, err := e.App().Config()
	if err != nil {
		return nil, err
	}
	if c.Agent(name) == nil {
		return e.Service(ctx)
	}
	return e.ServiceWithHub(ctx)
}
