package hub

import (
	"context"

	"fika"
)

// applySpecs applies the current specs of the agents. An agent whose entry is gone is
// no longer started; if this hub started it, it is told to leave after its current
// step.
func (s *supervisor) applySpecs(specs []Spec) {
	s.reloads++
	here := map[fika.AgentName]bool{}
	for _, spec := range specs {
		here[spec.Name] = true
		c := s.recordOf(spec.Name)
		switch {
		case !c.entry:
			s.log.Info("agent added to the configuration", "agent", spec.Name)
		case !c.spec.same(spec):
			s.log.Info("agent changed in the configuration", "agent", spec.Name)
		}
		if spec.AutoStart && !c.spec.AutoStart {
			c.asked = false
		}
		c.spec, c.entry = spec, true
	}
	for name, c := range s.agents {
		if !c.entry || here[name] {
			continue
		}
		c.entry, c.spec, c.failed = false, Spec{Name: name}, ""
		s.log.Info("agent removed from the configuration", "agent", name)
		if c.running && c.child {
			s.tellToStop(c, fika.DesiredStopped)
		}
	}
}

// refuseHindered refuses to start an agent that could not work, and stores the reason
// in its row. It checks again at every look, because the hindrance may go away by
// itself.
func (s *supervisor) refuseHindered(ctx context.Context, c *supervised, id fika.AgentID) bool {
	if s.hindrance == nil {
		return false
	}
	err := s.hindrance(c.spec.Name)
	if err == nil {
		return false
	}
	s.markFailed(ctx, c, id, err.Error())
	c.hindered = true
	return true
}

// isMended reports whether the cause of an agent's failure may have gone away: its
// hindrance is gone, or, if the process itself found the problem, the files have
// changed since.
func (s *supervisor) isMended(ctx context.Context, c *supervised, id fika.AgentID) bool {
	switch {
	case s.hindrance == nil || !c.hindered && (!c.refused || c.reloads == s.reloads):
		return false
	case c.hindered:
		if err := s.hindrance(c.spec.Name); err != nil {
			if why := err.Error(); why != c.failed {
				s.markFailed(ctx, c, id, why)
				c.hindered = true
			}
			return false
		}
	}
	c.failed, c.crashes, c.pause = "", nil, 0
	s.storeState(ctx, id, fika.AgentStopped, "")
	return true
}
