package conversation

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newList(e *command.Env) *cobra.Command {
	var f filter
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list conversations, newest first", Example: "  fika conversation list --agent coder", Args: command.Exactly(0, "no arguments"),
		Long: "Lists conversations, newest first. * marks the ask conversation that an agent's\nnext ask continues.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			filter, err := f.query(ctx, c)
			if err != nil {
				return err
			}
			list, err := c.Conversations.List(ctx, filter)
			if err != nil {
				return err
			}
			active, err := c.Conversations.Active(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return command.PrintLines(e, list, func(c service.ConversationInfo) listed { return toListed(c, active) })
			}
			if len(list) == 0 {
				e.Say("no conversations (fika ask AGENT \"PROMPT\", or fika chat create NAME)")
				return nil
			}
			return e.Table([]string{"CONVERSATION", "KIND", "WHO", "STATUS", "MESSAGES", "UPDATED"}, command.TableRows(list, func(c service.ConversationInfo) []string {
				name := string(c.Name)
				if active[c.ID] {
					name += " *"
				}
				who := string(c.AgentName)
				if who == "" {
					who = strings.Join(c.Participants, ", ")
				}
				return []string{name, string(c.Kind), who, c.Result(), fmt.Sprint(c.Messages), term.Ago(c.UpdatedAt, e.Now())}
			}))
		},
	}
	f.flags(e, c, 50)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}
