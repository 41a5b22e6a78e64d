package app

import (
	"context"
	"fmt"
	"os"
	"slices"

	"fika"
	"fika/internal/caller"
	"fika/internal/chat"
	"fika/internal/colleague"
	"fika/internal/folder"
	"fika/internal/store"
)

// Names says whose a name is: an agent's, a context's, nobody's.
type Names struct {
	home   *OpenedHome
	config *Configuration
	db     *Database
}

// FindRow returns the agent of a name, and nil when the database has none.
func FindRow(ctx context.Context, s *store.Store, name fika.AgentName) (*fika.Agent, error) {
	row, err := s.Agent(ctx, name)
	if fika.IsKind(err, fika.NotFound) {
		return nil, nil
	}
	return &row, err
}

// CheckName refuses, with kind NotFound, a name that is neither an [[agents]]
// entry nor a context: a misspelt agent must not come into being.
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
	hint := fmt.Sprintf("add an [[agents]] entry to config.toml, or: fika context new %s", name)
	near := nearestAgent(name, agents, team)
	if near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fika.Errorf(fika.NotFound, "", "no agent named %q; %s%s", name, hint, listOthers(near, team))
}

// Recipient is the agent of a context or of an [[agents]] entry, its row made
// if it is missing.
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
	return s.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: id})
}

// FindAgent returns the agent of a name as a person or a model wrote it; an
// error of kind NotFound suggests the nearest name and lists the team.
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

// NoAgent is the error that says that nobody has a name, which of all agents
// has one like it, and who there is: the team or, where the config names nobody,
// all.
func NoAgent(name fika.AgentName, agents []fika.Agent, team []colleague.Colleague) error {
	near, hint := nearestAgent(name, agents, team), ""
	if near != "" {
		hint = "; did you mean \"" + string(near) + "\"?"
	}
	if len(team) == 0 {
		team = colleague.OfRows(agents)
	}
	return fika.Errorf(fika.NotFound, "", "no agent named %q%s%s", name, hint, listOthers(near, team))
}

// listOthers says who there is, unless it is only the one who was probably meant.
func listOthers(near fika.AgentName, team []colleague.Colleague) string {
	if len(team) == 1 && team[0].Name == near {
		return ""
	}
	return colleague.KnownNames(team)
}

// nearestAgent is the agent whose name is most like a given one; "" when none is.
func nearestAgent(name fika.AgentName, agents []fika.Agent, team []colleague.Colleague) fika.AgentName {
	all := slices.Clone(agents)
	for _, c := range team {
		all = append(all, fika.Agent{Name: c.Name})
	}
	return chat.NearestAgent(string(name), all)
}

// MayBeCalled reports whether a person may go by these names: Denied for one
// that an agent, a context or an [[agents]] entry has. Every border that takes
// a person's name asks it, before anything is written.
func (n *Names) MayBeCalled(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := caller.PersonName(name, func(who fika.AgentName) (bool, error) { return n.isAgent(ctx, who) }); err != nil {
			return err
		}
	}
	return nil
}

// isAgent reports whether an agent, a context or an [[agents]] entry has a name.
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
