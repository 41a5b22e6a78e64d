package store

import (
	"context"
	"time"

	"fika"
)

// UsageRow is a line of the usage report.
type UsageRow struct {
	Agent    fika.AgentName
	Model    string
	Requests int
	Usage    fika.Usage
}

// UsageSince sums what was spent, by agent and model. Agents that are gone
// are named by their id.
func (s Ledger) UsageSince(ctx context.Context, since time.Time) ([]UsageRow, error) {
	all, err := many(ctx, s.r, func(sc scanner) (UsageRow, error) {
		var r UsageRow
		err := sc.Scan(&r.Agent, &r.Model, &r.Requests, &r.Usage.Input, &r.Usage.Output, &r.Usage.Cached, &r.Usage.Reasoning, &r.Usage.Cost)
		return r, err
	}, `SELECT COALESCE(a.name, u.agent), u.model, count(DISTINCT u.request), sum(u.input), sum(u.output), sum(u.cached), sum(u.reasoning), sum(u.cost)
FROM usage u LEFT JOIN agents a ON a.id = u.agent WHERE u.at >= ? GROUP BY COALESCE(a.name, u.agent), u.model ORDER BY 1, 2`, ms(since))
	return all, s.explain("read usage", err)
}
