package app

import (
	"context"
	"slices"
	"sync"

	"fika"
	"fika/internal/repository/worktree"
	"fika/internal/rights/guard"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// Resolver determines the settings of a context from the files, the environment and the
// flags of a command.
type Resolver struct {
	opts   Options
	place  *Place
	home   *OpenedHome
	config *Configuration
	keys   *Keyring
	db     *Database

	mu       sync.Mutex
	callable map[fika.AgentName]callers
}

// callers holds who may ask an agent, with the files this was read from.
type callers struct {
	config *config.Config
	local  config.Stamp
	by     []string
}

// Settings resolves the settings of a context from its current files.
func (r *Resolver) Settings(name fika.AgentName, flags map[string]string, quiet bool) (config.Settings, error) {
	in, err := r.settingInputs(name, flags, quiet)
	if err != nil {
		return config.Settings{}, err
	}
	s, err := config.Resolve(in)
	if err == nil && s.Worktree {
		var tree worktree.Tree
		if tree, err = r.place.Worktree(name); err == nil {
			s.Workspace = tree.Dir()
		}
	}
	return s, err
}

func (r *Resolver) settingInputs(name fika.AgentName, flags map[string]string, quiet bool) (config.Inputs, error) {
	root, err := r.place.Root()
	if err != nil {
		return config.Inputs{}, err
	}
	c, err := r.config.Config()
	if err != nil {
		return config.Inputs{}, err
	}
	local, err := config.LoadLocal(folder.HomeAt(root).Folder(name).LocalConfig())
	if err != nil {
		return config.Inputs{}, err
	}
	in := config.Inputs{Home: root, Agent: name, Config: c, Local: local, Env: r.opts.Getenv, Keys: r.keys.lookupName, Flags: flags}
	if quiet {
		in.Env = nil
	}
	return in, nil
}

// Definition returns what this home says of an agent for the other hosts, according to its
// current files; nil where the database is a file, because there are no others, and while
// the files cannot be read: what was said before stays.
func (r *Resolver) Definition(name fika.AgentName) *store.Definition {
	c, err := r.config.Config()
	if err != nil || c.Store.URL == "" {
		return nil
	}
	in, err := r.settingInputs(name, nil, true)
	if err != nil {
		return nil
	}
	a, err := config.ResolveAccess(in)
	if err != nil {
		return nil
	}
	d := &store.Definition{CallableBy: a.CallableBy, ReadableBy: a.ReadableBy, Permissions: a.ToolPermissions}
	if e := c.Agent(name); e != nil {
		d.Pool, d.RunOn, d.WorkspaceOn = e.Pool, e.RunOn, e.WorkspaceOn
		d.Entry, d.Wakes = true, c.Wakes(e)
	}
	return d
}

// definedAway returns what another host says of an agent of its own, and whether the agent
// is another host's. It fails with Denied if that host has said nothing: what is not known
// is not permitted.
func (r *Resolver) definedAway(ctx context.Context, name fika.AgentName) (store.Defined, bool, error) {
	c, err := r.config.Config()
	if err != nil || c.Store.URL == "" {
		return store.Defined{}, false, err
	}
	s, err := r.db.Store(ctx)
	if err != nil {
		return store.Defined{}, false, err
	}
	h, err := r.home.Home()
	if err != nil {
		return store.Defined{}, false, err
	}
	own, err := h.ID()
	if err != nil {
		return store.Defined{}, false, err
	}
	d, known, err := s.Defined(ctx, name)
	if err != nil || !known || d.Home == "" || d.Home == own {
		return d, false, err
	}
	if d.Version == 0 {
		host, there, err := s.HostOf(ctx, d.Home)
		if err != nil {
			return d, true, err
		}
		if !there {
			return d, true, fika.Errorf(fika.Denied, "", "@%s is on no host, so nobody says who may ask it or read its context: a host with an [[agents]] entry for it takes it over", name)
		}
		return d, true, fika.Errorf(fika.Denied, "", "@%s is on %s, which has not said yet who may ask it or read its context (%s there)", name, host.Name, hint.Up.With())
	}
	return d, true, nil
}

// Allows reports whether who is among those that may ask, as returned by
// [Resolver.CallableBy]. A member of a pool may ask where its pool may.
func (r *Resolver) Allows(ctx context.Context, by []string, who string) bool {
	if guard.MayCall(by, who) {
		return true
	}
	d, away, err := r.definedAway(ctx, fika.AgentName(who))
	if err != nil {
		return false
	}
	if away {
		return d.Pool != "" && guard.MayCall(by, d.Pool)
	}
	c, err := r.config.Config()
	if err != nil {
		return false
	}
	e := c.Agent(fika.AgentName(who))
	return e != nil && e.Pool != "" && guard.MayCall(by, e.Pool)
}

// ReadableBy returns the agents that may read an agent's context: by its current files, or
// by what its host says of it if that is another one. nil means all.
func (r *Resolver) ReadableBy(ctx context.Context, name fika.AgentName) ([]string, error) {
	if d, away, err := r.definedAway(ctx, name); away || err != nil {
		return d.ReadableBy, err
	}
	s, err := r.Settings(name, nil, true)
	return s.ReadableBy, err
}

// CallableBy returns who may ask an agent for work: by its current files, or by what its
// host says of it if that is another one. nil means everybody.
func (r *Resolver) CallableBy(ctx context.Context, name fika.AgentName) ([]string, error) {
	if d, away, err := r.definedAway(ctx, name); away || err != nil {
		return d.CallableBy, err
	}
	return r.OwnCallers(name)
}

// OwnCallers is CallableBy for an agent of this home. It is called for each mention in
// each answer, so it reads the files again only if they have changed.
func (r *Resolver) OwnCallers(name fika.AgentName) ([]string, error) {
	root, err := r.place.Root()
	if err != nil {
		return nil, err
	}
	c, err := r.config.Config()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	local := config.StampOf(folder.HomeAt(root).Folder(name).LocalConfig()) // before reading
	if k, known := r.callable[name]; known && k.config == c && local.SameAs(k.local) {
		return k.by, nil
	}
	in, err := r.settingInputs(name, nil, true)
	if err != nil {
		return nil, err
	}
	g, err := config.ResolveAccess(in)
	if err != nil {
		return nil, err
	}
	if r.callable == nil {
		r.callable = map[fika.AgentName]callers{}
	}
	r.callable[name] = callers{in.Config, local, g.CallableBy}
	return g.CallableBy, nil
}

// BoardPermission is the name in tool_permissions with which an agent may use the board.
const BoardPermission = "board"

// MayUseBoard reports whether an agent may look at the board and add tasks to it: by its
// current files, or by what its host says of it if that is another one.
func (r *Resolver) MayUseBoard(ctx context.Context, name fika.AgentName) (bool, error) {
	if d, away, err := r.definedAway(ctx, name); away || err != nil {
		return slices.Contains(d.Permissions, BoardPermission), err
	}
	in, err := r.settingInputs(name, nil, true)
	if err != nil {
		return false, err
	}
	a, err := config.ResolveAccess(in)
	return err == nil && slices.Contains(a.ToolPermissions, BoardPermission), err
}

// Limits returns the resources that the tools of an agent may use, according to its
// current files.
func (r *Resolver) Limits(name fika.AgentName) (config.Resources, error) {
	in, err := r.settingInputs(name, nil, true)
	if err != nil {
		return config.Resources{}, err
	}
	return config.ResolveLimits(in)
}

// PlainSettings returns the settings for a command that calls no model. They need
// neither a model nor a valid local.toml.
func (r *Resolver) PlainSettings(name fika.AgentName) (config.Settings, error) {
	c, err := r.config.Config()
	if err != nil {
		return config.Settings{}, err
	}
	s := config.Settings{
		Agent: name, DisplayName: string(name), Username: c.Username, LockHeartbeat: c.LockHeartbeat,
		Tools: c.Tools, Plugins: c.Plugins, MCP: c.MCP, Chat: c.Chat,
	}
	in, err := r.settingInputs(name, nil, true)
	if err != nil { // the context's own file cannot be read
		in = config.Inputs{Home: r.opts.Root, Agent: name, Config: c}
	}
	if s.Guard, s.Sandbox, err = config.ResolveGuard(in); err != nil {
		return config.Settings{}, err
	}
	if s.Limits, err = config.ResolveLimits(in); err != nil {
		return config.Settings{}, err
	}
	if entry := c.Agent(name); entry != nil {
		s.Entry, s.Description = true, entry.Description
		if entry.Name != "" {
			s.DisplayName = entry.Name
		}
	}
	return s, nil
}

// PlainModel returns the model that a new context would use. It returns Invalid with
// advice on what to set.
func (r *Resolver) PlainModel() (config.Model, error) {
	s, err := r.Settings(folder.DefaultContext, nil, false)
	return s.Model, err
}
