package session

import (
	"context"
	"sync"
	"time"

	"fika"
	"fika/internal/service"
)

// cost adds up what the turns and summaries of a session have used since it was opened.
// It is safe for concurrent use.
type cost struct {
	mu       sync.Mutex
	used     fika.Usage
	unpriced bool                    // the cost of some of it is not known
	scarce   string                  // a budget that is nearly spent; empty: none
	counted  map[fika.RequestID]bool // the turns that have been added
	since    time.Time               // turns that ended before have been counted
}

func newCost() *cost { return &cost{counted: map[fika.RequestID]bool{}} }

// soFar returns the usage, and whether the cost of some of it is not known.
func (s *cost) soFar() (u fika.Usage, unpriced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.unpriced
}

// add adds what was used outside of turns.
func (s *cost) add(u fika.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used, s.unpriced = s.used.Add(u), s.unpriced || u.Unpriced
}

// scarceBudget returns a line about a budget that is nearly spent; "" if there is none.
func (s *cost) scarceBudget() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scarce
}

// countedAgain is how far back turns are looked at again, because clocks differ
// and transactions may take long.
const countedAgain = time.Minute

// count adds the usage of the turns of a chat that have ended since the last call.
func (s *cost) count(ctx context.Context, c *service.Service, conv fika.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	ended, err := c.Chats.EndedSince(ctx, conv, s.since)
	if err != nil {
		return // the next call tries again
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
