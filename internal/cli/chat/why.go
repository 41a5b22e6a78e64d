package chat

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/chat"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

func newWhy(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "why CHAT MESSAGE AGENT", Short: "explain why a message did or did not start a turn of an agent",
		Long: `Explains what one message led to for one agent: that the agent answered, and
with what; what the message waits for; why it was dropped or its turn died; or
why the message did not call the agent: no mention, a mention inside code, a
quote or a link, a misspelt name, the agent's own words, words in the middle of
a turn.

MESSAGE is the number that chat send prints and chat view shows, or an id. The
exit status is 3 if there is no such message or agent.`,
		Example:           "  fika chat why design 3 coder\n  fika chat why design 3 coder --json | jq -r .verdict",
		Args:              command.Exactly(3, "a chat, the number of a message and an agent"),
		ValidArgsFunction: complete.InOrder(complete.ChatNames(e), nil, complete.AgentNames(e)),
		RunE:              func(cmd *cobra.Command, args []string) error { return explain(cmd.Context(), e, args, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

type whyJSON struct {
	Chat    fika.ConversationName `json:"chat"`
	Seq     int64                 `json:"seq"`
	Agent   fika.AgentName        `json:"agent"`
	Verdict chat.Verdict          `json:"verdict"`
	Request *fika.RequestID       `json:"request"`
	Answer  *int64                `json:"answer"` // seq
	Text    []string              `json:"text"`
	Codes   []api.Code            `json:"codes"` // of Text
}

func explain(ctx context.Context, e *command.Env, args []string, asJSON bool) error {
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	conv, err := c.Chats.Find(ctx, args[0])
	if err != nil {
		return err
	}
	row, err := c.Agents.FindKnown(ctx, args[2])
	if err != nil {
		return err
	}
	w, err := c.Chats.Why(ctx, conv, args[1], row)
	if err != nil {
		return err
	}
	if asJSON {
		codes := []api.Code{}
		for _, l := range w.Lines {
			codes = append(codes, l.Code)
		}
		return e.PrintJSON(whyJSON{w.Chat, w.Seq, w.Agent, w.Verdict, command.Optional(w.Request), command.Optional(w.Answer), words.All(w.Lines, e.Now()), codes})
	}
	for _, l := range w.Lines {
		if err := e.Println(term.CleanLine(e.Words(l))); err != nil {
			return err
		}
	}
	return nil
}
