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

// Standings returns the standing of the named agents, sorted by name. It leaves out
// names without a row.
func (s Agents) Standings(ctx context.Context, agents []fika.AgentName) ([]Standing, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	args := make([]any, len(agents))
	for i, n := range agents {
		args[i] = n
	}
	all, err := many(ctx, s.r, func(sc scanner) (Standing, error) {
		var st Standing
		err := sc.Scan(&st.Name, &st.Desired, &st.State, &st.Busy)
		return st, err
	}, `SELECT a.name, a.desired, a.state, EXISTS (SELECT 1 FROM requests r WHERE r.agent = a.id AND r.finished_at = 0 AND r.state = 'running')
FROM agents a WHERE a.name IN (`+placeholders(len(agents))+`) ORDER BY a.name`, args...)
	return all, s.explain("read standings", err)
}
