package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
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
	said, err := e.said(text, as)
	if err != nil {
		return err
	}
	if as != "" {
		if err := e.open().MayBeCalled(ctx, as); err != nil {
			return err
		}
	}
	client, conv, err := e.chatFor(ctx, word)
	if err != nil {
		return err
	}
	speaker, err := e.speaker(ctx, "--as", as)
	if err != nil {
		return err
	}
	if said.Agent, err = speaker.Says(e.open(), conv); err != nil {
		return err
	}
	if said.Agent == nil {
		if err := e.open().MayBeCalled(ctx, said.From, said.Username); err != nil {
			return err
		}
	}
	sent, err := client.Chats().Send(ctx, conv, said)
	if err != nil {
		return err
	}
	e.typed = ""
	_ = client.Bus.Flush(ctx)
	if err := e.println(sent.Entry.Seq); err != nil {
		return err
	}
	e.explainSent(ctx, client, conv, sent)
	return nil
}

// said is a message of the person at this terminal.
func (e *env) said(text, as string) (chat.Said, error) {
	c, err := e.open().Config()
	if err != nil {
		return chat.Said{}, err
	}
	user := c.Username
	if u := e.getenv("FIKA_USERNAME"); u != "" {
		user = u
	}
	if user, err = fika.ParseUsername(user); err != nil {
		return chat.Said{}, err
	}
	s := chat.Said{From: user, Username: user, Text: text, TTL: c.Chat.MessageTTL}
	if as != "" {
		if s.From, err = fika.ParseUsername(as); err != nil {
			return s, err
		}
	}
	return s, nil
}

// explainSent says what a person might otherwise wonder about.
func (e *env) explainSent(ctx context.Context, c *app.Client, conv fika.Conversation, sent chat.Sent) {
	switch {
	case sent.Paused:
		e.say("%s", e.ErrStyle().Dim(fmt.Sprintf("chat %q is paused: nobody answers before fika chat resume", conv.Name)))
	case sent.Nobody && sent.Person:
		e.say("%s", e.ErrStyle().Dim("only a person is mentioned, so no agent answers"))
	case sent.Nobody:
		e.say("%s", e.ErrStyle().Dim("nobody is mentioned, so nobody answers"))
	}
	agents, err := e.open().AgentsOf(c)
	if err != nil {
		return // what is paused or stopped is in the store, and chat queue tells
	}
	for _, n := range sent.Notified {
		if row, err := c.Store.Agent(ctx, n); err == nil {
			e.warnUnanswered(ctx, agents, row)
		}
	}
}
