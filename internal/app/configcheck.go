package app

import (
	"errors"
	"fmt"

	"fika"
	"fika/internal/config"
)

// CheckConfig returns what the files of this home say, or everything that is
// wrong with them: config.toml, models.toml, the local.toml of each context, and
// what they name that is not there.
func (a *App) CheckConfig() (*config.Config, error) {
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	c, err := config.LoadHome(root)
	if err != nil {
		return nil, err
	}
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	names, _, err := h.List()
	if err != nil {
		return nil, err
	}
	for _, e := range c.Agents {
		names = append(names, fika.AgentName(e.ID))
	}
	var errs []error
	seen := map[fika.AgentName]bool{}
	for _, n := range names {
		if seen[n] {
			continue
		}
		seen[n] = true
		if err := a.checkSettings(c, n); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, &fika.Error{Kind: fika.Invalid, Msg: errors.Join(errs...).Error()}
	}
	return c, nil
}

// checkSettings looks at the settings of one context. That none of them chooses
// a model is no mistake in a file.
func (a *App) checkSettings(c *config.Config, name fika.AgentName) error {
	s, err := a.Settings(name, nil, true)
	var unreadable *config.Problems
	switch {
	case errors.As(err, &unreadable):
		return err
	case err != nil && c.Model == "" && (c.Agent(name) == nil || c.Agent(name).Model == ""):
		return nil
	case err != nil:
		return fmt.Errorf("@%s: %w", name, err)
	case s.Workspace == "":
		return nil
	}
	if err := checkWorkspace(s.Workspace, name); err != nil {
		return fmt.Errorf("%s: %w", s.Origins["workspace"], err)
	}
	return nil
}
