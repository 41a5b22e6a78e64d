package cli

import (
	"context"
	"strings"

	"fika"
	"fika/internal/client"
	"fika/internal/mention"
)

// reader is a client that only looks, or waits for work that others do.
func (e *env) reader(ctx context.Context) (*client.Client, error) {
	return client.Open(ctx, e.open())
}

// client is a client for what needs a hub: see [client.Client.EnsureHub].
func (e *env) client(ctx context.Context) (*client.Client, error) {
	return e.clientFor(ctx, func(*client.Client) error { return nil })
}

// clientFor is client for what find finds: that there is no such thing is said
// before a hub is started for it.
func (e *env) clientFor(ctx context.Context, find func(*client.Client) error) (*client.Client, error) {
	c, err := e.reader(ctx)
	if err != nil {
		return nil, err
	}
	if err := find(c); err != nil {
		return nil, err
	}
	notes, err := c.EnsureHub(ctx, func() { e.say("%s", e.ErrStyle().Dim("starting the hub …")) })
	for _, n := range notes {
		e.warn(n)
	}
	return c, err
}

// chatFor is clientFor a chat.
func (e *env) chatFor(ctx context.Context, word string) (c *client.Client, conv fika.Conversation, err error) {
	c, err = e.clientFor(ctx, func(c *client.Client) (err error) { conv, err = c.Chats.Find(ctx, word); return err })
	return c, conv, err
}

// mentionHint reports whether a text mentions anybody, as in a chat.
func mentionHint(text string) bool {
	return strings.Contains(text, "@") && !mention.Parse(text, mention.Known{}).None()
}
