package app

import (
	"context"
	"fmt"
	"os"
	"slices"

	"fika"
	"fika/internal/chat"
	"fika/internal/chat/colleague"
	"fika/internal/rights/caller"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// Names finds out what a name belongs to: an agent, a context, or nothing.
type Names struct {
	home     *OpenedHome
	config   *Configuration
	settings *Resolver
	db       *Database
}

// FindRow returns the agent of a name, or nil if the database has none.
func FindRow(ctx context.Context, s *store.Store, name fika.AgentName) (*fika.Agent, error) {
	row, err := s.Agent(ctx, name)
	if fika.IsKind(err, fika.NotFound) {
		return nil, nil
	}
	return &row, err
}

// CheckName returns NotFound for a name that is neither an [[agents]] entry nor a
// context, so that a misspelt name does not create an agent.
func (n *Names) CheckName(name fika.AgentName) error {
	c, err := n.config.Config()
	if err != nil {
		return err
	}
	h, err := n.home.Home()
	if err != nil || c.Agent(name) != nil {
		return err
	}
	_, err = folder.OpenFolder(h, name)
	if !fika.IsKind(err, fika.NotFound) {
		return err
	}
	names, _, err := h.List()
	if err != nil {
		return err
	}
	var agents []fika.Agent
	for _, n := range names {
		agents = append(agents, fika.Agent{Name: n})
	}
	team := n.config.Colleagues("")
	return NoAgent(name, agents, team)
}

// Recipient returns the agent of a context or of an [[agents]] entry, and creates its
// row if it is missing.
func (n *Names) Recipient(ctx context.Context, name fika.AgentName) (fika.Agent, error) {
	s, err := n.db.Store(ctx)
	if err != nil {
		return fika.Agent{}, err
	}
	row, err := s.Agent(ctx, name)
	if !fika.IsKind(err, fika.NotFound) {
		return row, err
	}
	if err := n.CheckName(name); err != nil {
		return fika.Agent{}, err
	}
	h, err := n.home.Home()
	if err != nil {
		return fika.Agent{}, err
	}
	if c, err := n.config.Config(); err == nil && c.Agent(name) != nil {
		return n.EnsureEntry(ctx, s, h, c.Agent(name))
	}
	id, err := h.ID()
	if err != nil {
		return fika.Agent{}, err
	}
	return s.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: id, Definition: n.settings.Definition(name)})
}

// FindAgent returns an agent, given the name that a person or a model wrote. A NotFound
// error suggests the nearest name and lists the team.
func FindAgent(ctx context.Context, s *store.Store, name string, team []colleague.Colleague) (fika.Agent, error) {
	n, err := fika.ParseAgentName(name)
	if err != nil {
		return fika.Agent{}, err
	}
	row, err := s.Agent(ctx, n)
	if !fika.IsKind(err, fika.NotFound) {
		return row, err
	}
	agents, listErr := s.ListAgents(ctx)
	if listErr != nil {
		return row, listErr
	}
	return row, NoAgent(n, agents, team)
}

// NoAgent returns the error for an unknown name. It suggests the most similar name of
// all agents, and lists the team or, if the configuration names nobody, all agents; if there
// are none, it names the command that makes a team.
func NoAgent(name fika.AgentName, agents []fika.Agent, team []colleague.Colleague) error {
	meant := ""
	if len(agents)+len(team) == 0 {
		return fika.WithHint(fika.Errorf(fika.NotFound, "", "agent %q not found; there are no agents yet", name), hint.Init)
	}
	if near := nearestAgent(name, agents, team); near != "" {
		meant = fmt.Sprintf("; did you mean %q?", near)
	} else if len(team) == 0 {
		meant = colleague.KnownNames(colleague.OfRows(agents))
	} else {
		meant = colleague.KnownNames(team)
	}
	return fika.WithHint(fika.Errorf(fika.NotFound, "", "agent %q not found%s", name, meant), hint.AgentList)
}

// nearestAgent returns the agent whose name is most similar to the given one; "" if
// none is.
func nearestAgent(name fika.AgentName, agents []fika.Agent, team []colleague.Colleague) fika.AgentName {
	all := slices.Clone(agents)
	for _, c := range team {
		all = append(all, fika.Agent{Name: c.Name})
	}
	return chat.NearestAgent(string(name), all)
}

// MayBeCalled returns an error if a person may not use these names: Denied for a name
// that an agent, a context or an [[agents]] entry has. Every entry point that takes a
// person's name calls it before anything is written.
func (n *Names) MayBeCalled(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := caller.PersonName(name, func(who fika.AgentName) (bool, error) { return n.isAgent(ctx, who) }); err != nil {
			return err
		}
	}
	return nil
}

// isAgent reports whether an agent, a context or an [[agents]] entry has the name.
func (n *Names) isAgent(ctx context.Context, name fika.AgentName) (bool, error) {
	h, err := n.home.Home()
	if err != nil {
		return false, err
	}
	if _, err := os.Lstat(h.Folder(name).Path()); err == nil {
		return true, nil
	}
	if cfg, err := n.config.Config(); err == nil && cfg.Agent(name) != nil {
		return true, nil
	}
	s, err := n.db.Store(ctx)
	if err != nil {
		return false, err
	}
	_, err = s.Agent(ctx, name)
	if fika.IsKind(err, fika.NotFound) {
		return false, nil
	}
	return err == nil, err
}
