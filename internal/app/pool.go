package app

import (
	"context"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/store"
)

// EnsureEntry makes the row and the folder of an [[agents]] entry, and of a pool's
// members, and has the database know whose members they are. It writes nothing
// when all is there.
func (n *Names) EnsureEntry(ctx context.Context, s *store.Store, h folder.Home, e *config.Agent) (fika.Agent, error) {
	row, err := ensureEntry(ctx, s, h, e)
	if err != nil || !row.IsPool() && e.Instances == 0 {
		return row, err
	}
	if home, err := h.ID(); err != nil || row.HomeID != home {
		return row, err // that one's
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
		member, err := ensureEntry(ctx, s, h, entry)
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

// DissolvePool has the database know that an agent whose entry is gone is no pool
// any more; of another home it is that one's to say.
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

func ensureEntry(ctx context.Context, s *store.Store, h folder.Home, e *config.Agent) (fika.Agent, error) {
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
	return s.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: id, DisplayName: e.Name, Description: e.Description})
}

// PoolOf is the pool that an agent is a member of; empty: none.
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

// PoolRefusal says that a pool cannot do what only one agent can; nil for what is
// no pool.
func (n *Names) PoolRefusal(name fika.AgentName) error {
	c, err := n.config.Config()
	if err != nil {
		return nil // it is said elsewhere
	}
	if e := c.Agent(name); e != nil && e.Instances > 0 {
		return fika.Errorf(fika.Invalid, "", "%s is a pool of %d, which has neither a context nor a process: name a member, as in %s", name, e.Instances, config.MemberName(e.ID, 1))
	}
	return nil
}
