package command

import (
	"context"

	"fika/internal/client"
)

// Client is a client that only looks, or waits for work that others do.
func (e *Env) Client(ctx context.Context) (*client.Client, error) {
	return client.Open(ctx, e.App())
}

// ClientWithHub is a client for what needs a hub: see [client.Client.EnsureHub].
func (e *Env) ClientWithHub(ctx context.Context) (*client.Client, error) {
	return e.ClientFor(ctx, func(*client.Client) error { return nil })
}

// ClientFor is client for what find finds: that there is no such thing is said
// before a hub is started for it.
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

// Workflows are those of the home and those that are brought along.
func (e *Env) Workflows() (*client.Workflows, error) { return client.OpenWorkflows(e.App()) }
