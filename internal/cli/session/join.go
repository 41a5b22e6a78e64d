package session

import (
	"context"
	"errors"
	"path/filepath"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/page"
	"fika/internal/service"
)

// JoinOptions say how a person takes part in a chat.
type JoinOptions struct {
	History int    // how many of the last entries are shown first
	Pause   bool   // the chat stays paused until the person leaves
	As      string // the name to speak as; "": the username
}

// Join takes part in the chat that word names until the person leaves. Leaving stops
// nothing in the chat.
func Join(ctx context.Context, e *command.Env, word string, o JoinOptions) error {
	var conv fika.Conversation
	find := func(c *service.Service) (err error) { conv, err = c.Chats.Find(ctx, word); return err }
	c, err := openBehind(ctx, e, find)
	if err != nil {
		return err
	}
	return joinChat(ctx, e, c, conv, o, nil)
}

// openBehind opens a service for a person at a terminal, who does not wait for the hub:
// it starts in the background. Piped input has no prompt, and waits for the hub.
func openBehind(ctx context.Context, e *command.Env, find func(*service.Service) error) (*service.Service, error) {
	if !e.InTTY || !e.OutTTY {
		return e.ServiceFor(ctx, find)
	}
	c, err := e.Service(ctx)
	if err != nil {
		return nil, err
	}
	return c, find(c)
}

// joinChat takes part in a chat until the person leaves; s is nil unless the chat is
// the person's session.
func joinChat(ctx context.Context, e *command.Env, c *service.Service, conv fika.Conversation, o JoinOptions, s *session) error {
	h, err := e.App().Home()
	if err != nil {
		return err
	}
	as := service.Alias{Name: o.As, Option: "--as"}
	name, err := c.Chats.Enter(ctx, conv, as)
	if err != nil {
		return err
	}
	shown, err := page.OfChat(ctx, e, c, conv, false)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	conn := newConnection(ctx, c)
	v, err := newVisit(e, newJoinedChat(conn, conv, as), name, shown, filepath.Join(h.RunDir(), "history"), s)
	if err != nil {
		return err
	}
	defer v.screen.Close()
	if o.Pause {
		lease, err := c.ChatControl.HoldPaused(ctx, conv, name)
		if err != nil {
			return err
		}
		v.keepPaused(lease)
		defer v.releaseLease()
	}
	return errors.Join(v.run(ctx, stop, o.History), conn.close())
}
