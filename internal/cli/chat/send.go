package chat

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/text/hint"
	"fika/internal/text/spelling"
)

func newSend(e *command.Env) *cobra.Command {
	var as string
	var asJSON bool
	var files command.NamedFiles
	c := &cobra.Command{
		Use: "send CHAT MESSAGE...", Short: "send a message to a chat and return at once",
		Long: `Stores the message, notifies the agents it mentions, prints its seq and returns.
The conversation continues by itself: fika chat view --follow shows it.

With --as, several people can take part, each under a name of their own, which
must not be an agent's. A mention of a person (@bob) calls no agent: that branch
of the conversation waits for bob.

` + command.ExitHelp,
		Example: "  fika chat send design \"@coder sketch an API, and have it reviewed\"\n  git log -5 | fika chat send design \"@coder what changed?\"\n  fika chat send design --as bob \"@coder and what about tests?\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.UsageError("%s takes a chat and a message; see --help", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: complete.FirstOnly(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := e.ReadPrompt("fika chat send "+command.ShellWord(args[0]), args[1:])
			if err != nil {
				return err
			}
			text, pictures, err := e.AttachFiles(files, text)
			if err != nil {
				return err
			}
			return send(cmd.Context(), e, args[0], saying{text, pictures}, as, asJSON)
		},
	}
	c.Flags().StringVar(&as, "as", "", "name to speak as (default: your username)")
	command.JSONFlag(c, &asJSON)
	files.Flags(c)
	return c
}

type sentJSON struct {
	Chat     fika.ConversationName `json:"chat"`
	Seq      int64                 `json:"seq"`
	ID       fika.EntryID          `json:"id"`
	Notified []fika.AgentName      `json:"notified"`
	Paused   bool                  `json:"paused"`
}

// saying is what a person says: a text, and the pictures that it mentions.
type saying struct {
	text     string
	pictures []fika.Attachment
}

func send(ctx context.Context, e *command.Env, word string, said saying, as string, asJSON bool) error {
	alias := service.Alias{Name: as, Option: "--as"}
	var conv fika.Conversation
	c, err := e.ServiceFor(ctx, func(c *service.Service) (err error) {
		if err = c.CheckAlias(ctx, alias); err == nil {
			conv, err = c.Chats.Find(ctx, word)
		}
		if fika.IsKind(err, fika.NotFound) {
			err = orCreate(ctx, c, word, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	sent, err := c.Chats.SendWith(ctx, conv, said.text, said.pictures, alias)
	if err != nil {
		return err
	}
	e.Typed = ""
	if asJSON {
		err = e.PrintLine(sentJSON{conv.Name, sent.Entry.Seq, sent.Entry.ID, command.EmptyIfNil(sent.Notified), sent.Paused})
	} else {
		err = e.Println(sent.Entry.Seq)
	}
	if lost := e.CheckWritten(fmt.Sprintf("the message is stored all the same, as %d of %s", sent.Entry.Seq, conv.Name)); lost != nil {
		return lost
	}
	if err != nil {
		return err
	}
	explainSent(ctx, e, c, conv, sent)
	return nil
}

// explainSent tells the person why nobody may answer.
func explainSent(ctx context.Context, e *command.Env, c *service.Service, conv fika.Conversation, sent service.Sent) {
	switch {
	case sent.Paused:
		e.Say("%s", e.ErrStyle().Dim(fmt.Sprintf("chat %q is paused: nobody answers before fika chat resume", conv.Name)))
	case sent.Nobody && sent.Person:
		e.Say("%s", e.ErrStyle().Dim("only a person is mentioned, so no agent answers"))
	case sent.Nobody:
		e.Say("%s", e.ErrStyle().Dim("nobody is mentioned, so nobody answers"))
	}
	for _, why := range c.Availability.WhoNeverAnswers(ctx, sent.Notified) {
		e.WarnStatus(api.Stands(api.WaitingUntilThen).With(why))
	}
}

// orCreate returns the error for a chat that does not exist, with the command that creates
// it if its name is not nearly that of another one.
func orCreate(ctx context.Context, c *service.Service, word string, missing error) error {
	list, err := c.Chats.List(ctx)
	if err != nil {
		return missing
	}
	var names []string
	for _, x := range list {
		names = append(names, string(x.Name))
	}
	if spelling.Nearest(word, names) != "" {
		return missing
	}
	return fika.WithHint(fika.Errorf(fika.NotFound, "", "chat %q not found", word), hint.ChatCreate.With(command.ShellWord(word)))
}
