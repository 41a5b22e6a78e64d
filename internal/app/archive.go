package app

import (
	"context"

	"fika"
	"fika/internal/api"
	"fika/internal/chat/reading"
	"fika/internal/store"
)

// Archive returns what has been said and done in this home, for those who may read it.
func (a *App) Archive(s *store.Store) reading.Archive {
	return reading.Archive{Store: s, ReadableBy: func(ctx context.Context, name fika.AgentName) ([]string, error) { return a.ReadableBy(ctx, name) }}
}

// ReaderOf returns the agent that a principal reads as, or "" if it is none. A tool whose
// agent is unknown reads what all agents may.
func ReaderOf(p api.Principal) reading.Reader {
	if p.Kind != api.Agent {
		return ""
	}
	return fika.AgentName(p.Name)
}
