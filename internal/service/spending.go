package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/store"
)

// The keys by which spending can be added up.
const (
	ByAgent    = "agent"
	ByModel    = "model"
	ByChat     = "chat"
	ByWorkflow = "workflow"
	ByDay      = "day"
)

// SpendingKeys returns the keys by which spending can be added up.
func SpendingKeys() []string { return []string{ByAgent, ByModel, ByChat, ByWorkflow, ByDay} }

// Spent is what was spent under one key. The fields of the other keys are empty.
type Spent struct {
	Agent    fika.AgentName
	Model    string
	Chat     fika.ConversationName
	Workflow string
	Day      string // 2026-11-22, by the clock of this machine
	Requests int    // each is counted once
	Usage    fika.Usage
	Unpriced bool // some of it has no known price
}

// spentKey is the key of one line.
type spentKey struct{ agent, model, chat, workflow, day string }

// Spending adds up what was spent since a time: by one of [SpendingKeys], or by agent
// and model if by is empty. The most expensive comes first; days are in order. total is
// the sum.
func (c *Service) Spending(ctx context.Context, since time.Time, by string) (lines []Spent, total Spent, err error) {
	type sum struct {
		Spent
		requests map[fika.RequestID]bool
	}
	sums := map[spentKey]*sum{}
	all := map[fika.RequestID]bool{}
	err = c.sight().spending(ctx, since, func(p store.Spending) {
		k := keyOf(p, by)
		s := sums[k]
		if s == nil {
			s = &sum{Spent{Agent: fika.AgentName(k.agent), Model: k.model, Chat: fika.ConversationName(k.chat), Workflow: k.workflow, Day: k.day}, map[fika.RequestID]bool{}}
			sums[k] = s
		}
		unpriced := !c.CostKnown(p.Model, p.Usage)
		p.Usage.Unpriced = unpriced
		s.Usage, s.Unpriced, s.requests[p.Request] = s.Usage.Add(p.Usage), s.Unpriced || unpriced, true
		total.Usage, total.Unpriced, all[p.Request] = total.Usage.Add(p.Usage), total.Unpriced || unpriced, true
	})
	total.Requests = len(all)
	for _, s := range sums {
		s.Requests = len(s.requests)
		lines = append(lines, s.Spent)
	}
	slices.SortFunc(lines, func(a, b Spent) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(b.Usage.Cost, a.Usage.Cost), cmp.Compare(b.Usage.Input+b.Usage.Output, a.Usage.Input+a.Usage.Output),
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Chat, b.Chat), cmp.Compare(a.Workflow, b.Workflow))
	})
	return lines, total, err
}

func keyOf(p store.Spending, by string) spentKey {
	switch by {
	case ByAgent:
		return spentKey{agent: string(p.Agent)}
	case ByModel:
		return spentKey{model: p.Model}
	case ByChat:
		return spentKey{chat: string(p.Chat)}
	case ByWorkflow:
		return spentKey{workflow: p.Workflow}
	case ByDay:
		return spentKey{day: p.At.Local().Format(time.DateOnly)}
	}
	return spentKey{agent: string(p.Agent), model: p.Model}
}
