package service

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/report/trace"
)

// profileBatch is how many requests are read together.
const profileBatch = 400

// AgentProfile says how long the requests of an agent took and what they cost.
type AgentProfile struct {
	trace.AgentProfile
	Unpriced bool // some of it has no known price
}

// Profile returns what the requests took that an agent (empty: any agent) was given or
// has ended since a time: how long they waited, the time of models and tools, and
// fika's own time between.
func (c *Service) Profile(ctx context.Context, agent fika.AgentID, since time.Time) ([]AgentProfile, error) {
	list, err := c.sight().requests(ctx, RequestFilter{Agent: agent, Since: since})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, OfRun)
	var p trace.Profile
	unpriced := map[fika.AgentName]bool{}
	for batch := range slices.Chunk(list, profileBatch) {
		rows, err := c.store.Trace(ctx, batch)
		if err != nil {
			return nil, err
		}
		p.Add(rows, c.now())
		for _, r := range rows {
			for _, st := range r.Steps {
				if !c.CostKnown(st.Model, st.Usage) {
					unpriced[r.AgentName] = true
				}
			}
		}
	}
	var out []AgentProfile
	for _, a := range p.Agents() {
		out = append(out, AgentProfile{a, unpriced[a.Agent]})
	}
	return out, nil
}
