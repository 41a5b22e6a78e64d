package store

import (
	"context"

	"fika"
)

// Standing is the current state of an agent, as far as it matters to others who would
// ask it something.
type Standing struct {
	Name    fika.AgentName
	Desired fika.Desired
	State   fika.AgentState
	Busy    bool // it has a running request
}

func scanStanding(s scanner) (st Standing, err error) {
	return st, s.Scan(&st.Name, &st.Desired, &st.State, &st.Busy)
}

// Company returns who takes part in a conversation, in the order in which they joined it,
// and the standing of the named agents, sorted by name. It leaves out names without a row.
// On a server it is one round trip.
func (s Agents) Company(ctx context.Context, c fika.ConversationID, agents []fika.AgentName) (in []string, standings []Standing, err error) {
	ask := []statement{all(&in, scanText, selectParticipants, c)}
	if len(agents) > 0 {
		ask = append(ask, all(&standings, scanStanding, `SELECT a.name, a.desired, a.state, EXISTS (SELECT 1 FROM requests r WHERE r.agent = a.id AND r.finished_at = 0 AND r.state = 'running')
FROM agents a WHERE a.name IN (`+placeholders(len(agents))+`) ORDER BY a.name`, appendAll(nil, agents)...))
	}
	err = s.r.run(ctx, ask...)
	return in, standings, s.explain("read who is there", err)
}
