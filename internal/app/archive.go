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
