package worker

import (
	"context"

	"fika"
	"fika/internal/chat/reading"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/tool/recall"
)

// recallTool searches the past of its agent. Without a store it has a name but cannot
// be called.
func recallTool(s *store.Store) tool.Tool {
	return recall.New(func(ctx context.Context, agent fika.AgentName, now fika.RequestID, query string, limit int) ([]store.Found, error) {
		row, err := s.Agent(ctx, agent)
		if err != nil {
			return nil, err
		}
		return reading.Past{Store: s, Agent: row, Now: now}.Find(ctx, query, limit)
	})
}
