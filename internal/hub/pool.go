package hub

import (
	"fika"
	"fika/internal/store"
)

// wantMembers makes enough members of each pool run that every task finds a free one.
// atWork holds the running members that are not free. Members that run hear of the
// tasks by themselves.
func (s *supervisor) wantMembers(work []store.Work, atWork map[fika.AgentName]bool) {
	for _, w := range work {
		c := s.agents[w.Agent]
		if c == nil || len(c.spec.Members) == 0 {
			continue
		}
		need := w.Open
		var asleep []fika.AgentName
		for _, name := range c.spec.Members {
			switch m := s.agents[name]; {
			case m == nil || m.stoppedByUser || m.failed != "" || atWork[name]:
			case m.running:
				need--
			default:
				asleep = append(asleep, name)
			}
		}
		for _, name := range asleep[:max(0, min(need, len(asleep)))] {
			atWork[name] = true
		}
	}
}

// allRun reports whether all members of a pool run and so hear its wake-ups. It is
// false without any members.
func (s *supervisor) allRun(members []fika.AgentName) bool {
	for _, name := range members {
		if m := s.agents[name]; m == nil || !m.running || !m.child && !s.procs.Alive(m.proc) {
			return false
		}
	}
	return len(members) > 0
}
