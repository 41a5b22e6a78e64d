package app

import (
	"sync"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/guard"
	"fika/internal/worktree"
)

// Resolver works out the settings of a context: of the files, the environment
// and what a command says.
type Resolver struct {
	opts   Options
	place  *Place
	config *Configuration
	keys   *Keyring

	mu       sync.Mutex
	callable map[fika.AgentName]callers
}

// callers is who may ask an agent, with what that was read from.
type callers struct {
	config *config.Config
	local  config.Stamp
	by     []string
}

// Settings resolves the settings of a context as its files are now.
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

// Allows reports whether who asks is among those that may, which [Resolver.CallableBy]
// names: a member of a pool is where its pool is.
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

// CallableBy says who may ask an agent for work, as its files are now; nil is
// everybody. It is asked for each mention of each answer, so the files are read
// again only when they have changed.
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

// Limits are what the tools of an agent may use of the machine, as its files are
// now.
func (r *Resolver) Limits(name fika.AgentName) (config.Resources, error) {
	in, err := r.settingInputs(name, nil, true)
	if err != nil {
		return config.Resources{}, err
	}
	return config.ResolveLimits(in)
}

// PlainSettings are what a command needs that asks no model: they neither
// need a model nor a valid local.toml.
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
	if err != nil { // its own file cannot be read
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

// PlainModel is the model that a new context would use. Error kind: Invalid,
// saying what to set.
func (r *Resolver) PlainModel() (config.Model, error) {
	s, err := r.Settings(folder.DefaultContext, nil, false)
	return s.Model, err
}
