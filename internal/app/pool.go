package app

import (
	"context"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// EnsureEntry creates the row and the folder of an [[agents]] entry and of a pool's
// members, and stores which pool the members belong to. It writes nothing if everything
// exists.
func (n *Names) EnsureEntry(ctx context.Context, s *store.Store, h folder.Home, e *config.Agent) (fika.Agent, error) {
	row, err := n.ensureEntry(ctx, s, h, e)
	if err != nil || !row.IsPool() && e.Instances == 0 {
		return row, err
	}
	if home, err := h.ID(); err != nil || row.HomeID != home {
		return row, err // the pool belongs to another home
	}
	c, err := n.config.Config()
	if err != nil {
		return row, err
	}
	var ids []fika.AgentID
	for _, name := range e.Members() {
		entry := c.Agent(name)
		if entry == nil {
			continue
		}
		member, err := n.ensureEntry(ctx, s, h, entry)
		if err != nil {
			return row, err
		}
		if member.HomeID == row.HomeID {
			ids = append(ids, member.ID)
		}
	}
	if err := s.KeepPool(ctx, row.ID, ids); err != nil {
		return row, err
	}
	return s.Agent(ctx, row.Name)
}

// DissolvePool stores that an agent whose entry is gone is no longer a pool. It leaves
// the pools of other homes alone.
func (n *Names) DissolvePool(ctx context.Context, s *store.Store, h folder.Home, row fika.Agent) (fika.Agent, error) {
	c, err := n.config.Config()
	if err != nil || !row.IsPool() || c.Agent(row.Name) != nil {
		return row, err
	}
	if home, err := h.ID(); err != nil || row.HomeID != home {
		return row, err
	}
	if err := s.KeepPool(ctx, row.ID, nil); err != nil {
		return row, err
	}
	return s.Agent(ctx, row.Name)
}

func (n *Names) ensureEntry(ctx context.Context, s *store.Store, h folder.Home, e *config.Agent) (fika.Agent, error) {
	name, err := fika.ParseAgentName(e.ID)
	if err != nil {
		return fika.Agent{}, err
	}
	if e.Instances == 0 { // a pool has no context
		if _, _, err := h.Ensure(name); err != nil {
			return fika.Agent{}, err
		}
	}
	id, err := h.ID()
	if err != nil {
		return fika.Agent{}, err
	}
	return s.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: id, DisplayName: e.Name, Description: e.Description, Definition: n.settings.Definition(name)})
}

// PoolOf returns the pool that an agent is a member of; "" if none.
func (n *Names) PoolOf(name fika.AgentName) fika.AgentName {
	c, err := n.config.Config()
	if err != nil {
		return ""
	}
	if e := c.Agent(name); e != nil {
		return fika.AgentName(e.Pool)
	}
	return ""
}

// PoolRefusal returns the error for an operation that needs a single agent; nil if the
// name is not a pool's.
func (n *Names) PoolRefusal(name fika.AgentName) error {
	c, err := n.config.Config()
	if err != nil {
		return nil // reported elsewhere
	}
	if e := c.Agent(name); e != nil && e.Instances > 0 {
		return fika.Errorf(fika.Invalid, "", "%s is a pool of %d, which has neither a context nor a process: name a member, as in %s", name, e.Instances, config.MemberName(e.ID, 1))
	}
	return nil
}
