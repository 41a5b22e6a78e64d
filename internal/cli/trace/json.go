package trace

import (
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/report/trace"
	"fika/internal/service"
)

// traceJSON is a trace as --json prints it. Durations are in milliseconds.
type traceJSON struct {
	ID        fika.RequestID       `json:"id"`
	What      string               `json:"what"`
	StartedAt *time.Time           `json:"started_at"`
	EndedAt   *time.Time           `json:"ended_at"`
	Took      int64                `json:"took_ms"`
	Spent     map[trace.Kind]int64 `json:"spent_ms"`
	Usage     fika.Usage           `json:"usage"`
	CostUSD   *float64             `json:"cost_usd"` // null: no price of what was used is known
	Unpriced  bool                 `json:"unpriced"` // the price of some of it is not known
	Requests  []tracedRequestJSON  `json:"requests"`
}

type tracedRequestJSON struct {
	ID           fika.RequestID        `json:"id"`
	Parent       *fika.RequestID       `json:"parent"`
	Chain        fika.RequestID        `json:"chain"`
	Agent        fika.AgentName        `json:"agent"`     // that works on it
	Host         *string               `json:"host"`      // that the agent is on; null: there is only one
	Addressed    *fika.AgentName       `json:"addressed"` // that was asked, if another works on it
	Conversation fika.ConversationName `json:"conversation"`
	Kind         fika.RequestKind      `json:"kind"`
	State        fika.RequestState     `json:"state"`
	CreatedAt    *time.Time            `json:"created_at"`
	Took         int64                 `json:"took_ms"`
	Usage        fika.Usage            `json:"usage"`
	Spans        []spanJSON            `json:"spans"`
}

type spanJSON struct {
	Kind      trace.Kind  `json:"kind"`
	Name      *string     `json:"name"`
	Choice    *string     `json:"choice"` // why this one of several models was called; null: it is the first
	Round     *int        `json:"round"`
	StartedAt *time.Time  `json:"started_at"`
	Took      int64       `json:"took_ms"`
	Open      bool        `json:"open"`
	Usage     *fika.Usage `json:"usage"`
}

func traceToJSON(t service.Traced, where service.Where) traceJSON {
	j := traceJSON{
		ID: t.ID, What: t.What, StartedAt: command.JSONTime(t.Start), EndedAt: command.JSONTime(t.End), Took: t.End.Sub(t.Start).Milliseconds(),
		Spent: map[trace.Kind]int64{}, Usage: t.Usage, Unpriced: t.Unpriced, Requests: []tracedRequestJSON{},
	}
	if usd := float64(t.Usage.Cost) / 1e6; usd > 0 || !t.Unpriced {
		j.CostUSD = &usd
	}
	for k, d := range t.Spent {
		j.Spent[k] = d.Milliseconds()
	}
	for _, r := range t.Requests {
		q := tracedRequestJSON{
			ID: r.ID, Parent: command.Optional(r.Parent), Chain: r.Chain, Agent: r.AgentName, Host: command.Optional(where[r.AgentName]), Addressed: command.Optional(r.AddressedName), Conversation: r.ConversationName, Kind: r.Kind, State: r.State,
			CreatedAt: command.JSONTime(r.CreatedAt), Took: r.End.Sub(r.CreatedAt).Milliseconds(), Usage: r.Usage, Spans: []spanJSON{},
		}
		for _, s := range r.Spans {
			one := spanJSON{Kind: s.Kind, Name: command.Optional(s.Name), Choice: command.Optional(s.Choice), Round: command.Optional(s.Round), StartedAt: command.JSONTime(s.Start), Took: s.Took.Milliseconds(), Open: s.Open}
			if s.Usage != (fika.Usage{}) {
				one.Usage = &s.Usage
			}
			q.Spans = append(q.Spans, one)
		}
		j.Requests = append(j.Requests, q)
	}
	return j
}
