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
// exists. Of a pool over several hosts it takes as many members as have places here, and
// none by the name of a member: NotFound if no host has taken that one.
func (n *Names) EnsureEntry(ctx context.Context, s *store.Store, h folder.Home, e *config.Agent) (fika.Agent, error) {
	if e.Pool != "" && e.Places > 0 {
		return s.Agent(ctx, fika.AgentName(e.ID))
	}
	row, err := n.ensureEntry(ctx, s, h, e)
	if err != nil || !row.IsPool() && e.Instances == 0 {
		return row, err
	}
	home, err := h.ID()
	if err != nil || row.HomeID != home && e.Places == 0 {
		return row, err // the pool belongs to another home
	}
	c, err := n.config.Config()
	if err != nil {
		return row, err
	}
	var ids []fika.AgentID
	names, err := n.membersHere(ctx, s, home, e)
	if err != nil {
		return row, err
	}
	for _, name := range names {
		entry := c.Agent(name)
		if entry == nil || e.Places > 0 && len(ids) == e.Places {
			continue
		}
		member, err := n.ensureEntry(ctx, s, h, entry)
		if err != nil {
			return row, err
		}
		if member.HomeID == home {
			ids = append(ids, member.ID)
		}
	}
	if err := s.KeepPool(ctx, row.ID, home, ids); err != nil {
		return row, err
	}
	return s.Agent(ctx, row.Name)
}

// membersHere returns which members of a pool a home may have: of one over several hosts
// first those that it has, then those that no other host has.
func (n *Names) membersHere(ctx context.Context, s *store.Store, home string, e *config.Agent) ([]fika.AgentName, error) {
	if e.Places == 0 {
		return e.Members(), nil
	}
	var own, free []fika.AgentName
	for _, name := range e.Members() {
		row, err := s.Agent(ctx, name)
		switch {
		case fika.IsKind(err, fika.NotFound):
			free = append(free, name)
			continue
		case err != nil:
			return nil, err
		case row.HomeID == home:
			own = append(own, name)
			continue
		}
		if _, taken, err := s.HostOf(ctx, row.HomeID); err != nil {
			return nil, err
		} else if !taken {
			free = append(free, name)
		}
	}
	return append(own, free...), nil
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
	if err := s.KeepPool(ctx, row.ID, row.HomeID, nil); err != nil {
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
