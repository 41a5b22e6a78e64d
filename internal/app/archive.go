package app

import (
	"fika"
	"fika/internal/reading"
	"fika/internal/store"
)

// Archive returns what has been said and done in this home, for those who may read it.
func (a *App) Archive(s *store.Store) reading.Archive {
	return reading.Archive{Store: s, ReadableBy: func(name fika.AgentName) ([]string, error) {
		settings, err := a.Settings(name, nil, true)
		return settings.ReadableBy, err
	}}
}

// Reader returns the agent through whose tool this command runs, or "" for a person. A
// tool whose agent is unknown reads what all agents may.
func (a *App) Reader() (reading.Reader, error) {
	c, err := a.Caller()
	if c.InsideTool() && c.Agent == "" {
		return "tool", err
	}
	return c.Agent, err
}
