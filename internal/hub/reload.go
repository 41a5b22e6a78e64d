package hub

import (
	"context"
	"time"

	"fika"
)

// reloadTime is how often the hub looks whether the files have changed: that
// costs a few stats.
const reloadTime = 500 * time.Millisecond

// reload takes over what config says now, and reports whether it changed. An
// agent whose entry is gone is no longer started; one that this hub started is
// told to leave after its current step.
func (h *Hub) reload(ctx context.Context) bool {
	if h.opts.Reload == nil {
		return false
	}
	specs, changed := h.opts.Reload(ctx)
	if !changed {
		return false
	}
	h.reloads++
	here := map[fika.AgentName]bool{}
	for _, s := range specs {
		here[s.Name] = true
		c := h.charge(s.Name)
		switch {
		case !c.entry:
			h.opts.Log.Info("agent added to the configuration", "agent", s.Name)
		case c.spec != s:
			h.opts.Log.Info("agent changed in the configuration", "agent", s.Name)
		}
		if s.AutoStart && !c.spec.AutoStart {
			c.asked = false
		}
		c.spec, c.entry = s, true
	}
	for name, c := range h.agents {
		if !c.entry || here[name] {
			continue
		}
		c.entry, c.spec, c.failed = false, Spec{Name: name}, ""
		h.opts.Log.Info("agent removed from the configuration", "agent", name)
		if c.running && c.child {
			h.stop(c, fika.DesiredStopped)
		}
	}
	return true
}

// hindered refuses to start an agent that could not work, and says why in its
// row. It is asked again at every look: what hinders may go away by itself.
func (h *Hub) hindered(ctx context.Context, c *charge, id fika.AgentID) bool {
	if h.opts.Hindered == nil {
		return false
	}
	err := h.opts.Hindered(c.spec.Name)
	if err == nil {
		return false
	}
	h.markFailed(ctx, c, id, err.Error())
	c.hindered = true
	return true
}

// mended reports whether what made an agent fail may have gone away: what
// hindered it has, or, where the process itself found out, the files have
// changed since.
func (h *Hub) mended(ctx context.Context, c *charge, id fika.AgentID) bool {
	switch {
	case h.opts.Hindered == nil || !c.hindered && (!c.refused || c.reloads == h.reloads):
		return false
	case c.hindered:
		if err := h.opts.Hindered(c.spec.Name); err != nil {
			if why := err.Error(); why != c.failed {
				h.markFailed(ctx, c, id, why)
				c.hindered = true
			}
			return false
		}
	}
	c.failed, c.crashes, c.pause = "", nil, 0
	h.setState(ctx, id, fika.AgentStopped, "")
	return true
}
