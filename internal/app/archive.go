package app

import (
	"fika"
	"fika/internal/reading"
	"fika/internal/store"
)

// Archive is what has been said and done in this home, for whoever may read it.
func (a *App) Archive(s *store.Store) reading.Archive {
	return reading.Archive{Store: s, ReadableBy: func(name fika.AgentName) ([]string, error) {
		settings, err := a.Settings(name, nil, true)
		return settings.ReadableBy, err
	}}
}

// Reader is the agent through whose tool this command runs; empty: a person. A
// tool whose agent cannot be told reads what all agents may.
func (a *App) Reader() (reading.Reader, error) {
	c, err := a.Caller()
	if c.InsideTool() && c.Agent == "" {
		return "tool", err
	}
	return c.Agent, err
}
