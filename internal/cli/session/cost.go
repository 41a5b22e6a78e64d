package session

import (
	"context"
	"sync"
	"time"

	"fika"
	"fika/internal/client"
)

// cost adds up what the turns of a session have used since it was opened.
// Several goroutines may use it at once.
type cost struct {
	mu       sync.Mutex
	used     fika.Usage
	unpriced bool                    // it is not known what some of it has cost
	scarce   string                  // a budget that is nearly spent; empty: none
	counted  map[fika.RequestID]bool // the turns that used it
	since    time.Time               // those that ended before have been counted
}

func newCost() *cost { return &cost{counted: map[fika.RequestID]bool{}} }

// soFar is what was used, and whether it is not known what some of it has cost.
func (s *cost) soFar() (u fika.Usage, unpriced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.unpriced
}

// scarceBudget tells of a budget that is nearly spent; empty: there is none.
func (s *cost) scarceBudget() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scarce
}

// countedAgain is how far back turns are looked at again, for clocks that differ
// and transactions that take long.
const countedAgain = time.Minute

// count adds what the turns of a chat have used that have ended since the last time.
func (s *cost) count(ctx context.Context, c *client.Client, conv fika.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	ended, err := c.Chats.EndedSince(ctx, conv, s.since)
	if err != nil {
		return // the next look tells
	}
	for _, r := range ended {
		if !s.counted[r.ID] {
			s.counted[r.ID] = true
			s.used = s.used.Add(r.Outcome.Usage)
			s.unpriced = s.unpriced || c.RequestUnpriced(r)
		}
	}
	s.since = now.Add(-countedAgain)
	if budgets, err := c.Budgets().Scarce(ctx); err == nil {
		s.scarce = ""
		if len(budgets) > 0 {
			s.scarce = budgets[0].ShortText(budgets[0].Balance)
		}
	}
}
