package cli

import (
	"context"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/mention"
)

// reader is a client that only looks, or waits for work that others do.
func (e *env) reader(ctx context.Context) (*app.Client, error) {
	if _, err := e.open().Home(); err != nil {
		return nil, err
	}
	return e.open().Client(ctx)
}

// client is a client whose wishes need a hub: one is started when none runs
// and [hub] autostart allows it.
func (e *env) client(ctx context.Context) (*app.Client, error) {
	h, err := e.open().Home()
	if err != nil {
		return nil, err
	}
	c, err := e.open().Config()
	if err != nil {
		return nil, err
	}
	if _, err := e.open().Store(ctx); err != nil { // told here rather than in the hub's log
		return nil, err
	}
	if _, up := h.HubProcess(); !up {
		who, err := e.open().Caller()
		if err != nil {
			return nil, err
		}
		if who.Inside() {
			// Whatever a tool starts ends with it, and a hub is for all.
			e.warn("no hub is running, and a tool starts none: what is sent waits until a person says fika up")
		} else if c.Hub.Autostart {
			e.say("%s", e.ErrStyle().Dim("starting the hub …"))
			ready, _, err := e.startHub(ctx)
			if err != nil {
				return nil, err
			}
			for _, a := range ready.Agents {
				if !a.OK {
					e.warn("@" + string(a.Name) + " did not come up: " + a.Error)
				}
			}
		} else {
			e.warn("no hub is running: what is sent waits in the store (fika up)")
		}
	}
	client, err := e.open().Client(ctx)
	if err == nil && client.Trouble != "" {
		e.warn(client.Trouble + "; what is sent is kept, and agents that run find it within seconds")
	}
	return client, err
}

// clientFor is client for what find finds: that there is no such thing is said
// before a hub is started for it. find may be called a second time, with the
// client that is returned.
func (e *env) clientFor(ctx context.Context, find func(*app.Client) error) (*app.Client, error) {
	h, err := e.open().Home()
	if err != nil {
		return nil, err
	}
	if _, up := h.HubProcess(); !up {
		c, err := e.open().Client(ctx)
		if err != nil {
			return nil, err
		}
		if err := find(c); err != nil {
			return nil, err
		}
	}
	c, err := e.client(ctx)
	if err != nil {
		return nil, err
	}
	return c, find(c)
}

// chatFor is clientFor a chat.
func (e *env) chatFor(ctx context.Context, word string) (c *app.Client, conv fika.Conversation, err error) {
	c, err = e.clientFor(ctx, func(c *app.Client) (err error) { conv, err = findChat(ctx, c, word); return err })
	return c, conv, err
}

// mentionHint reports whether a text mentions anybody, as in a chat.
func mentionHint(text string) bool {
	return strings.Contains(text, "@") && !mention.Parse(text, mention.Known{}).None()
}
