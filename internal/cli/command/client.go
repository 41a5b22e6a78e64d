package command

import (
	"context"

	"fika/internal/client"
)

// Client opens a client that only looks, or waits for work that others do.
func (e *Env) Client(ctx context.Context) (*client.Client, error) {
	return client.Open(ctx, e.App())
}

// ClientWithHub opens a client for work that needs a hub: see [client.Client.EnsureHub].
func (e *Env) ClientWithHub(ctx context.Context) (*client.Client, error) {
	return e.ClientFor(ctx, func(*client.Client) error { return nil })
}

// ClientFor is ClientWithHub for something that find looks up: if find fails, its
// error is returned and no hub is started.
func (e *Env) ClientFor(ctx context.Context, find func(*client.Client) error) (*client.Client, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	if err := find(c); err != nil {
		return nil, err
	}
	notes, err := c.EnsureHub(ctx, func() { e.Say("%s", e.ErrStyle().Dim("starting the hub …")) })
	for _, n := range notes {
		e.Warn(n)
	}
	return c, err
}

// Workflows opens the workflows of the home and those that come with fika.
func (e *Env) Workflows() (*client.Workflows, error) { return client.OpenWorkflows(e.App()) }
