package hub

import (
	"context"

	"fika"
	"fika/internal/store"
)

// tasksSeen is how many tasks of the board one look finds agents for.
const tasksSeen = 50

// seeToBoard opens the tasks whose agents are gone, and finds one agent for each task that
// lacks nothing else: a running one hears a bell, another one is added to those at work,
// atWork, which are started.
func (h *Hub) seeToBoard(ctx context.Context, rows []fika.Agent, atWork map[fika.AgentName]bool) {
	if h.opts.Now().Sub(h.begun) >= h.opts.Patience && h.opts.Sharing.Holds(DutyCare) { // those that this hub has just started are given time
		opened, err := h.opts.Store.Board.OpenLapsed(ctx, h.opts.Patience)
		if err != nil {
			h.opts.Log.Warn("tasks of agents that are gone", "err", err)
		}
		for _, n := range opened {
			h.opts.Log.Info("taken from an agent that is gone, or overdue", "task", n)
		}
	}
	if !h.supervisor.anyForBoard() {
		return
	}
	tasks, err := h.opts.Store.Board.Claimable(ctx, tasksSeen)
	if err != nil || len(tasks) == 0 {
		return // the next look sees them
	}
	has, err := h.opts.Store.Board.AtTasks(ctx)
	if err != nil {
		return
	}
	for _, t := range tasks {
		best := h.supervisor.bestFor(t, rows, has, atWork)
		if best == nil {
			continue
		}
		has[best.ID]++
		if h.supervisor.agents[best.Name].running {
			_ = h.opts.Bus.Publish(h.opts.Subjects.Bell(best.Name), nil)
		} else {
			atWork[best.Name] = true
		}
	}
}

// anyForBoard reports whether any agent takes tasks of the board.
func (s *supervisor) anyForBoard() bool {
	for _, c := range s.agents {
		if c.entry && c.spec.Board != nil {
			return true
		}
	}
	return false
}

// bestFor returns the agent that should take a task: of those that may, one that runs and is
// idle, else one that can be started, else a busy one that has room; of these the one with
// the fewest tasks. It returns nil if there is none. has is how many tasks each has.
func (s *supervisor) bestFor(t store.TaskInfo, rows []fika.Agent, has map[fika.AgentID]int, atWork map[fika.AgentName]bool) *fika.Agent {
	var best *fika.Agent
	least := 0
	for i, row := range rows {
		c := s.agents[row.Name]
		if c == nil || !c.entry || c.spec.Board == nil || row.Desired.Stopped() || c.failed != "" || row.QuotaUsedUp(s.now()) {
			continue
		}
		if !c.running && !c.spec.Wake || has[row.ID] >= max(1, c.spec.Board.Most) || !c.spec.Board.Takes(row.ID, row.Pool, t.BoardTask) {
			continue
		}
		cost := has[row.ID]
		switch {
		case !c.running:
			cost += 1000
		case atWork[row.Name]:
			cost += 2000
		}
		if best == nil || cost < least {
			best, least = &rows[i], cost
		}
	}
	return best
}
