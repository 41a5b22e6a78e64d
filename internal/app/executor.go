package app

import (
	"context"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/store"
)

// UsedExecutors returns the [[executors]] entries that are used for tools.
func UsedExecutors(c *config.Config) (out []config.Executor) {
	for _, x := range c.Executors {
		used := x.Name == c.Tools.Executor
		for i := range c.Agents {
			used = used || x.Name == c.Agents[i].Executor
		}
		if used {
			out = append(out, x)
		}
	}
	return out
}

// ExecutorHome returns the id of the home whose process an executor is. It fails with NotFound
// if its host is not known.
func (a *App) ExecutorHome(ctx context.Context, s *store.Store, x config.Executor) (string, error) {
	if x.Host == "" {
		h, err := a.Home()
		if err != nil {
			return "", err
		}
		return h.ID()
	}
	list, _, err := s.ListHosts(ctx)
	for _, h := range list {
		if h.Name == x.Host {
			return h.ID, err
		}
	}
	if err == nil {
		err = fika.Errorf(fika.NotFound, "", "the executor %s is to run on the host %q, and there is none", x.Name, x.Host)
	}
	return "", err
}
