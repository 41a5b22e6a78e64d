package command

import (
	"context"

	"fika/internal/api"
	"fika/internal/service"
)

// Service opens a service that only looks, or waits for work that others do. What it
// writes is named by --key.
func (e *Env) Service(ctx context.Context) (*service.Service, error) {
	who, err := e.Principal()
	if err != nil {
		return nil, err
	}
	c, err := service.Open(ctx, e.App(), who)
	if err != nil {
		return nil, err
	}
	return c.With(api.Write{Key: e.Key}), nil
}

// ServiceOffline opens the service without the bus, for reading: see
// [service.OpenOffline].
func (e *Env) ServiceOffline(ctx context.Context) (*service.Service, error) {
	who, err := e.Principal()
	if err != nil {
		return nil, err
	}
	return service.OpenOffline(ctx, e.App(), who)
}

// ServiceWithHub opens the service for work that needs a hub: see [service.Service.EnsureHub].
func (e *Env) ServiceWithHub(ctx context.Context) (*service.Service, error) {
	return e.ServiceFor(ctx, func(*service.Service) error { return nil })
}

// ServiceFor is ServiceWithHub for something that find looks up: if find fails, its
// error is returned and no hub is started.
func (e *Env) ServiceFor(ctx context.Context, find func(*service.Service) error) (*service.Service, error) {
	c, err := e.Service(ctx)
	if err != nil {
		return nil, err
	}
	if err := find(c); err != nil {
		return nil, err
	}
	notes, err := c.EnsureHub(ctx, func(doing string) { e.Say("%s", e.ErrStyle().Dim(doing+" …")) })
	for _, n := range notes {
		e.WarnStatus(n)
	}
	return c, err
}

// Workflows opens the workflows of the home and those that come with fika.
func (e *Env) Workflows() (*service.Workflows, error) { return service.OpenWorkflows(e.App()) }

// WarnWithoutHub says, if no hub is running, what follows for what a command has shown or
// begun, whatever states are stored.
func (e *Env) WarnWithoutHub(so string) {
	if _, up, err := service.HubOf(e.App()).Process(); err == nil && !up {
		e.Warn("no hub is running, so " + so + ": fika up")
	}
}
