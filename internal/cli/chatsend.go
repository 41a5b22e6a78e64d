package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
)

func newChatSend(e *env) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use: "send CHAT MESSAGE...", Short: "say something in a chat and return at once",
		Long: `Stores the message, tells the agents it mentions, prints its seq and returns.
The conversation goes on by itself: fika chat view --follow shows it.

With --as several people sit at one table: each takes part under a name of
their own, which may not be an agent's. A mention of a person (@bob) calls
nobody: that branch of the conversation waits for bob.

` + exitHelp,
		Example: "  fika chat send design \"@arya sketch an API, then ask @gendry to attack it\"\n  git log -5 | fika chat send design \"@arya what changed?\"\n  fika chat send design --as bob \"@arya and what about tests?\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("%s takes a chat and a message; see --help", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: first(e.completeChats),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := e.readPrompt(args[1:])
			if err != nil {
				return err
			}
			return e.chatSend(cmd.Context(), args[0], text, as)
		},
	}
	c.Flags().StringVar(&as, "as", "", "name to speak as (default: your username)")
	return c
}

func (e *env) chatSend(ctx context.Context, word, text, as string) error {
	alias := client.Alias{Name: as, Option: "--as"}
	var conv fika.Conversation
	c, err := e.clientFor(ctx, func(c *client.Client) (err error) {
		if err = c.CheckAlias(ctx, alias); err == nil {
			conv, err = c.Chats.Find(ctx, word)
		}
		return err
	})
	if err != nil {
		return err
	}
	sent, err := c.Chats.Send(ctx, conv, text, alias)
	if err != nil {
		return err
	}
	e.typed = ""
	if err := e.println(sent.Entry.Seq); err != nil {
		return err
	}
	e.explainSent(ctx, c, conv, sent)
	return nil
}

// explainSent says what a person might otherwise wonder about.
func (e *env) explainSent(ctx context.Context, c *client.Client, conv fika.Conversation, sent client.Sent) {
	switch {
	case sent.Paused:
		e.say("%s", e.ErrStyle().Dim(fmt.Sprintf("chat %q is paused: nobody answers before fika chat resume", conv.Name)))
	case sent.Nobody && sent.Person:
		e.say("%s", e.ErrStyle().Dim("only a person is mentioned, so no agent answers"))
	case sent.Nobody:
		e.say("%s", e.ErrStyle().Dim("nobody is mentioned, so nobody answers"))
	}
	for _, why := range c.Agents.WhoNeverAnswers(ctx, sent.Notified) {
		e.warn(why + "; until then it waits")
	}
}
