package chat

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// modeJSON is what chat mode --json prints.
type modeJSON struct {
	Conversation fika.ConversationName `json:"conversation"`
	Mode         *fika.Mode            `json:"mode"` // null: none is set
}

func newMode(e *command.Env) *cobra.Command {
	asJSON, accept := false, false
	c := &cobra.Command{
		Use: "mode CHAT [MODE]", Short: "show or set what agents may do by themselves because of a chat",
		Long: `Shows the mode of a chat, or sets it:

  plan   agents only look: nothing is changed, run or sent; they end with a plan
  ask    a person is asked before a file is changed or a command is run
  edit   files are changed; a person is asked before a command is run
  auto   nobody is asked, inside the sandbox; where there is none, as edit

The mode applies to everything that follows from the chat: mentions, delegated tasks
and runs of teams, and to calls that have not begun. Rules that allow, ask or deny
take precedence, except in plan mode. A chat without a mode has the settings alone.
A new session begins in auto mode where the sandbox is full, else in edit mode.
In plan mode an agent ends with a plan. --accept accepts the newest one: the chat gets
the mode, and the agent is asked to carry the plan out.

Only a person sets it.`,
		Example:           "  fika chat mode design\n  fika chat mode design plan\n  fika chat mode design edit --accept",
		Args:              command.OneOrTwo("the name of a chat and, to set its mode, plan, ask, edit or auto"),
		ValidArgsFunction: complete.InOrder(complete.ChatNames(e), complete.Modes),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			conv, err := c.Chats.Find(ctx, args[0])
			if err != nil {
				return err
			}
			mode := ""
			if len(args) == 2 {
				mode = args[1]
			}
			if accept {
				if conv, err = acceptPlan(ctx, e, c, conv, cmp.Or(mode, string(fika.EditMode))); err != nil {
					return err
				}
			} else if mode != "" {
				if conv, err = c.Chats.SetMode(ctx, conv, mode); err != nil {
					return err
				}
			}
			if asJSON {
				return e.PrintLine(modeJSON{conv.Name, command.Optional(conv.Mode)})
			}
			if conv.Mode == "" {
				return e.Print("none: the settings alone say what agents may do\n")
			}
			return e.Print(string(conv.Mode) + "\n")
		},
	}
	c.Flags().BoolVar(&accept, "accept", false, "accept the newest plan: its agent carries it out, in MODE or else in edit mode")
	command.JSONFlag(c, &asJSON)
	return c
}

// acceptPlan accepts the newest plan of a chat, says who begins, and returns the chat as it
// then stands.
func acceptPlan(ctx context.Context, e *command.Env, c *service.Service, conv fika.Conversation, mode string) (fika.Conversation, error) {
	plan, err := c.Chats.Plan(ctx, conv)
	if err == nil {
		_, err = c.Chats.AcceptPlan(ctx, conv, plan, mode, service.Alias{})
	}
	if err != nil {
		return conv, err
	}
	e.Say("accepted: @%s carries it out", plan.Meta.WriterName)
	return c.Chats.ByID(ctx, conv.ID)
}
