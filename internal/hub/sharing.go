package hub

import (
	"context"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/system/sleep"
)

// Sharing is the place of a hub among those that share its database. Its methods are safe
// for concurrent use and do not wait.
type Sharing interface {
	// Mine reports whether an agent is this hub's: whether its home is.
	Mine(fika.Agent) bool
	// Alive reports whether the hub of another home runs, as far as is known.
	Alive(home string) bool
	// Holds reports whether this hub, of all, has a duty now.
	Holds(duty string) bool
	// Drained reports whether this host is to begin no work: a person wants that, or it is
	// about to be stopped because it has none.
	Drained() bool
	// Fits reports whether an agent with these words for run_on may run here.
	Fits(hosts []string) bool
	// Leaving reports whether an agent of this host is to go to another once what it does
	// has ended, or has just come and waits for its files.
	Leaving(fika.AgentID) bool
}

// Duties are what one hub at a time does for all.
const (
	DutyCare     = "care"     // deadlines, pauses and tasks of processes that are gone, the index for search
	DutyCleaning = "cleaning" // rows that have expired or grown old
	DutyRequests = "requests" // reading what other programs ask over the bus
	DutyOutcomes = "outcomes" // announcing outcomes of agents whose hub is gone
)

// Duties returns the names of all duties of hubs.
func Duties() []string { return []string{DutyCare, DutyCleaning, DutyRequests, DutyOutcomes} }

// alone is the place of a hub that shares its database with no other.
type alone struct{}

func (alone) Mine(fika.Agent) bool { return true }
func (alone) Alive(string) bool    { return false }
func (alone) Holds(string) bool    { return true }
func (alone) Drained() bool        { return false }
func (alone) Fits([]string) bool   { return true }

// Leaving implements [Sharing].
func (alone) Leaving(fika.AgentID) bool { return false }

// dutyLook is how often it is checked whether a duty is still, or by now, this hub's.
const dutyLook = 500 * time.Millisecond

// WhileHolding calls do while this hub has a duty, and ends its context when it has it no
// more. It waits for the duty first. It returns nil when the duty was lost, or ctx ended.
func WhileHolding(ctx context.Context, s Sharing, duty string, do func(context.Context) error) error {
	if _, ok := s.(alone); ok {
		return do(ctx)
	}
	for !s.Holds(duty) {
		if sleep.For(ctx, dutyLook) != nil {
			return nil
		}
	}
	held, lose := context.WithCancel(ctx)
	defer lose()
	var watch sync.WaitGroup
	watch.Go(func() {
		defer lose()
		for s.Holds(duty) && sleep.For(held, dutyLook) == nil {
		}
	})
	err := do(held)
	lost := held.Err() != nil
	lose()
	watch.Wait()
	if lost {
		return nil
	}
	return err
}

// ownAgents returns those of all agents that are this hub's, and notes the others.
func (h *Hub) ownAgents(rows []fika.Agent) []fika.Agent {
	own := make([]fika.Agent, 0, len(rows))
	elsewhere := map[fika.AgentName]string{}
	for _, row := range rows {
		if h.opts.Sharing.Mine(row) {
			own = append(own, row)
		} else {
			elsewhere[row.Name] = row.HomeID
		}
	}
	h.supervisor.elsewhere = elsewhere
	return own
}

// isElsewhere reports whether an agent is another hub's.
func (s *supervisor) isElsewhere(name fika.AgentName) bool {
	_, there := s.elsewhere[name]
	return there
}

// leavesOutcome reports whether another process announces an outcome: its agent, which has
// just finished the request, or the hub of its agent, or the one whose duty it is.
func (h *Hub) leavesOutcome(r store.RequestInfo) bool {
	home, there := h.supervisor.elsewhere[r.AgentName]
	if !there {
		return h.supervisor.announcesItself(r)
	}
	return h.opts.Sharing.Alive(home) || !h.opts.Sharing.Holds(DutyOutcomes)
}
