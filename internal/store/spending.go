package store

import (
	"context"
	"time"

	"fika"
)

// Spending is the usage of one model by one request in a quarter of an hour.
type Spending struct {
	Request  fika.RequestID
	Agent    fika.AgentName
	Model    string
	Chat     fika.ConversationName // where the request was worked, else where its chain began; empty: in no chat
	Workflow string                // of the run that it is part of, "(team)" if that has no name; empty: none
	At       time.Time             // the beginning of the quarter-hour
	Usage    fika.Usage
}

// costless tells whether tokens were used in some call that cost nothing, or in a turn of a
// guest that counts none: its model is free, or its price was not known.
const costless = `max(CASE WHEN u.cost = 0 AND (u.input + u.output > 0 OR u.model LIKE '` + fika.GuestModels + `%') THEN 1 ELSE 0 END) > 0`

// usageSums adds up usage. Of guests, it also tells whether some has an unknown cost, and
// whether some is paid for by a subscription.
const usageSums = `COALESCE(sum(u.input), 0), COALESCE(sum(u.output), 0), COALESCE(sum(u.cached), 0), COALESCE(sum(u.reasoning), 0), COALESCE(sum(u.cost), 0),
COALESCE(max(u.estimated), 0) > 0, COALESCE(max(CASE WHEN u.cost = 0 AND u.model LIKE '` + fika.GuestModels + `%' AND u.model NOT LIKE '%` + fika.BySubscription + `' AND u.model NOT LIKE '%` + fika.FreeOfCharge + `' THEN 1 ELSE 0 END), 0) > 0,
COALESCE(max(CASE WHEN u.model LIKE '` + fika.GuestModels + `%` + fika.BySubscription + `' THEN 1 ELSE 0 END), 0) > 0`

// quarter is the resolution of [Ledger.SpendingSince] in milliseconds: in every time
// zone, days begin at a quarter of an hour.
const quarter = 15 * 60 * 1000

// SpendingSince calls show with all usage since a time, in no particular order; Unpriced is
// set if some call cost nothing. An agent that no longer exists is named by its id; the usage
// of deleted conversations is in no chat and no workflow.
func (s Ledger) SpendingSince(ctx context.Context, since time.Time, show func(Spending)) error {
	_, err := many(ctx, s.r, func(sc scanner) (struct{}, error) {
		var p Spending
		var when int64
		err := sc.Scan(&p.Request, &p.Agent, &p.Model, &p.Chat, &p.Workflow, &when,
			&p.Usage.Input, &p.Usage.Output, &p.Usage.Cached, &p.Usage.Reasoning, &p.Usage.Cost, &p.Usage.Unpriced, &p.Usage.Estimated)
		if err == nil {
			p.Usage.Subscription = fika.AsBilled(p.Model, p.Usage).Subscription
			p.At = at(when * quarter)
			show(p)
		}
		return struct{}{}, err
	}, selectSpending, int64(quarter), ms(since))
	return s.explain("read usage", err)
}

const selectSpending = byArguments + `SELECT x.request, COALESCE(a.name, x.agent), x.model,
CASE WHEN c.kind = 'chat' THEN c.name WHEN b.kind = 'chat' THEN b.name ELSE '' END,
CASE WHEN f.id IS NULL THEN '' WHEN f.name = '' THEN '(team)' ELSE f.name END, x.part, x.input, x.output, x.cached, x.reasoning, x.cost, x.free, x.estimated
FROM (SELECT u.request, u.agent, u.model, u.at / ? AS part, sum(u.input) AS input, sum(u.output) AS output, sum(u.cached) AS cached,
sum(u.reasoning) AS reasoning, sum(u.cost) AS cost, ` + costless + ` AS free, max(u.estimated) > 0 AS estimated FROM usage u WHERE u.at >= ? GROUP BY 4, 1, 2, 3) x
LEFT JOIN agents a ON a.id = x.agent LEFT JOIN requests r ON r.id = x.request LEFT JOIN conversations c ON c.id = r.conversation
LEFT JOIN chains h ON h.root = r.chain LEFT JOIN conversations b ON b.id = h.conversation
LEFT JOIN flow_runs f ON f.id = COALESCE(NULLIF(c.run, ''), NULLIF(b.run, ''))`
