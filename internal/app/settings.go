package app

import (
	"slices"
	"sync"

	"fika"
	"fika/internal/repository/worktree"
	"fika/internal/rights/guard"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
)

// Resolver determines the settings of a context from the files, the environment and the
// flags of a command.
type Resolver struct {
	opts   Options
	place  *Place
	config *Configuration
	keys   *Keyring

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

// Allows reports whether who is among those that may ask, as returned by
// [Resolver.CallableBy]. A member of a pool may ask where its pool may.
func (r *Resolver) Allows(by []string, who string) bool {
	if guard.MayCall(by, who) {
		return true
	}
	c, err := r.config.Config()
	if err != nil {
		return false
	}
	e := c.Agent(fika.AgentName(who))
	return e != nil && e.Pool != "" && guard.MayCall(by, e.Pool)
}

// CallableBy returns who may ask an agent for work, according to its current files; nil
// means everybody. It is called for each mention in each answer, so it reads the files
// again only if they have changed.
func (r *Resolver) CallableBy(name fika.AgentName) ([]string, error) {
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
	g, _, err := config.ResolveGuard(in)
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

// MayUseBoard reports whether an agent may look at the board and add tasks to it, according
// to its current files.
func (r *Resolver) MayUseBoard(name fika.AgentName) (bool, error) {
	in, err := r.settingInputs(name, nil, true)
	if err != nil {
		return false, err
	}
	s, err := config.ResolvePermissions(in)
	return err == nil && slices.Contains(s, BoardPermission), err
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
