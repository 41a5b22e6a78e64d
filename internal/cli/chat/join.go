package chat

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/client"
)

// joinOptions are the flags of chat join.
type joinOptions struct {
	history int
	pause   bool
	as      string
}

func newJoin(e *command.Env) *cobra.Command {
	var o joinOptions
	c := &cobra.Command{
		Use: "join CHAT", Aliases: []string{"open"}, Short: "take part in a chat: read along, type, steer",
		Long: `Shows the last messages, then what arrives, and sends what you type. What
arrives never disturbs the line you are typing. Leaving changes nothing: the
conversation goes on.

--pause holds the chat until you leave: running steps finish, nothing new
begins, what is said waits. If your terminal dies, or this program is killed,
the hub lets the chat go on 15 seconds later, with a notice in it; without a hub
that happens when the next one starts. A chat that was paused already stays so.

--as NAME speaks as somebody else, as fika chat send does.

` + slashHelp(false, 80),
		Example: "  fika chat join design\n  fika chat join design --pause\n  fika chat join design --as bob",
		Args:    command.Exactly(1, "the name of a chat"), ValidArgsFunction: complete.FirstOnly(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return join(cmd.Context(), e, args[0], o) },
	}
	command.LimitFlag(c, &o.history, 25, "how many of the last messages to show first")
	c.Flags().BoolVar(&o.pause, "pause", false, "hold the chat until you leave")
	c.Flags().StringVar(&o.as, "as", "", "name to speak as (default: your username)")
	return c
}

func join(ctx context.Context, e *command.Env, word string, o joinOptions) error {
	var conv fika.Conversation
	find := func(c *client.Client) (err error) { conv, err = c.Chats.Find(ctx, word); return err }
	c, err := openBehind(ctx, e, find)
	if err != nil {
		return err
	}
	return joinChat(ctx, e, c, conv, o, nil)
}

// openBehind is a client for a person at a terminal, who does not wait for a hub
// to start: it starts behind the prompt. Piped input has no prompt, and waits.
func openBehind(ctx context.Context, e *command.Env, find func(*client.Client) error) (*client.Client, error) {
	if !e.InTTY || !e.OutTTY {
		return e.ClientFor(ctx, find)
	}
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	return c, find(c)
}

// joinChat takes part in a chat until the person leaves; s is not nil in a
// session.
func joinChat(ctx context.Context, e *command.Env, c *client.Client, conv fika.Conversation, o joinOptions, s *session) error {
	h, err := e.App().Home()
	if err != nil {
		return err
	}
	as := client.Alias{Name: o.as, Option: "--as"}
	name, err := c.Chats.Enter(ctx, conv, as)
	if err != nil {
		return err
	}
	page, err := NewPage(ctx, e, c, conv, false)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	conn := newConnection(ctx, c)
	v, err := newVisit(e, newJoinedChat(conn, conv, as), name, page, filepath.Join(h.RunDir(), "history"), s)
	if err != nil {
		return err
	}
	defer v.screen.Close()
	if o.pause {
		lease, err := c.ChatControl.HoldPaused(ctx, conv, name)
		if err != nil {
			return err
		}
		v.keepPaused(lease)
		defer v.releaseLease()
	}
	return errors.Join(v.run(ctx, stop, o.history), conn.close())
}
