package config

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/settings/toml"
)

// Inputs are the layers that a context's settings come from.
type Inputs struct {
	Home   string         // absolute; relative paths in files start here
	Agent  fika.AgentName // the context's name
	Config *Config        // nil: [Default]
	Local  *Local         // nil: none
	// Env reads the environment (os.Getenv). nil: an empty one, as for agents that the
	// hub starts, which ignore FIKA_MODEL and similar variables.
	Env func(string) string
	// Keys reads the environment for API keys if no model is configured anywhere, and
	// for the addresses of providers; nil: Env.
	Keys func(string) string
	// Flags are the settings given on the command line, by key as in local.toml
	// ("model": "opus"). FlagNames says how the flag of a key was spelled, for Origins;
	// a missing name means "--" and the key.
	Flags     map[string]string
	FlagNames map[string]string
}

// Settings are the resolved settings of one context. They are independent values except
// for lists and maps, which are shared with the Config and must not be changed.
type Settings struct {
	Agent       fika.AgentName
	DisplayName string
	Description string
	Entry       bool // it has an [[agents]] entry

	Engine  string   // what works its turns: empty for a model, or [EngineACP]
	Command []string // of a program that does; one with a slash is absolute
	Billing string   // what pays for it: [Subscription] or [Free]; empty: money
	prices  Prices   // of its tokens

	ModelUse             // of the first, if there are several
	Choice   ModelChoice // among several models
	Username string

	SystemPrompt     string   // the text itself, or empty
	SystemPromptFile string   // absolute path, or empty
	ToolPermissions  []string // nil: read, list and every plugin
	ToolsOff         []string
	Skills           []string // names, or *; nil: none
	Workspace        string   // absolute, or empty: the caller decides
	Worktree         bool     // a git worktree of its own, whose path [Resolve] does not know
	ReadableBy       []string // nil: every agent of this home
	Env              map[string]string
	AgentsMD         bool
	Trust            []string // absolute
	Budgets          []Budget // of the home

	AutoCompact              bool
	AutoCompactThreshold     float64
	WarnThresholdPercent     float64
	RollingCompactDrop       float64
	MaxRecursionDepth        int
	ReflectionEnabled        bool
	ReflectionCharacterLimit int
	TurnTimeout              time.Duration // 0: none
	Patience                 time.Duration
	PatienceBackground       time.Duration

	LockHeartbeat time.Duration
	Pool          string // the pool that it is a member of; empty: none
	Backed        bool   // others take over what it cannot work
	Persistent    bool
	MaxIdle       time.Duration
	MaxConcurrent int

	Chat    Chat // with the limits of this agent
	Answer  Answer
	Tools   Tools
	Limits  Resources
	Guard   Guard   // with the confinement of this agent
	Sandbox Sandbox // absolute paths, with what is lent to this agent
	Plugins map[string]Plugin
	MCP     []MCPServer

	// Origins says where each per-context key came from: "flag --model", "environment
	// FIKA_MODEL", "/…/local.toml:3", "default".
	Origins map[string]string
}

// DefaultContextWindow is used for a model whose window is unknown, in tokens.
const DefaultContextWindow = 128_000

// Resolve merges the layers: flags, environment, local.toml, the agent's [[agents]]
// entry, config.toml, defaults. Error kind: Invalid. It reads no files; it asks the
// network only if no model is configured anywhere and no key is set (see
// [DefaultModel]).
func Resolve(in Inputs) (Settings, error) {
	if in.Config == nil {
		in.Config = Default()
	}
	c := in.Config
	m, err := in.mergeLayers()
	if err != nil {
		return Settings{}, err
	}
	if c.entryIndex(strings.ToLower(m.Username)) >= 0 {
		return Settings{}, fika.Errorf(fika.Invalid, "settings", "%s: the username %s is the id of an agent: people and agents cannot share a name", m.origins["username"], toml.Quote(m.Username))
	}
	s := Settings{
		Agent: in.Agent, DisplayName: string(in.Agent), Origins: m.origins,
		Username: m.Username, ToolPermissions: m.ToolPermissions, ToolsOff: m.ToolsOff, Skills: m.Skills,
		ReadableBy: m.ReadableBy, Env: m.Env, AgentsMD: m.AgentsMD,
		AutoCompact: m.AutoCompact, AutoCompactThreshold: m.AutoCompactThreshold,
		WarnThresholdPercent: m.WarnThresholdPercent, RollingCompactDrop: m.RollingCompactDrop,
		MaxRecursionDepth: m.MaxRecursionDepth, ReflectionEnabled: m.ReflectionEnabled,
		ReflectionCharacterLimit: m.ReflectionCharacterLimit, TurnTimeout: m.TurnTimeout,
		Patience: m.Patience, PatienceBackground: m.PatienceBackground,
		LockHeartbeat: c.LockHeartbeat, Budgets: c.Budgets, Chat: c.Chat, Answer: c.Answer, Tools: c.Tools, Plugins: c.Plugins, MCP: c.MCP, Limits: m.Resources,
	}
	if s.Worktree = m.Workspace == Worktree; !s.Worktree {
		s.Workspace = in.absolutePath(m.Workspace)
	}
	s.Chat.Limits, s.Tools.Executor = m.Limits, m.Executor
	if s.Guard, s.Sandbox, err = ResolveGuard(in); err != nil {
		return Settings{}, err
	}
	for _, t := range c.Trust {
		s.Trust = append(s.Trust, in.absolutePath(t))
	}
	if isPath(m.SystemPrompt) {
		s.SystemPromptFile = in.absolutePath(m.SystemPrompt)
	} else {
		s.SystemPrompt = m.SystemPrompt
	}
	s.setLifecycle(c.Agent(in.Agent))
	if s.Engine == EngineACP {
		return s, in.resolveGuest(m, &s)
	}
	if err := in.resolveModel(m, &s); err != nil {
		return s, &ModelError{err}
	}
	return s, nil
}

// ModelError says that a context has no model that can be called. The settings beside it
// hold everything else.
type ModelError struct{ Err error }

func (e *ModelError) Error() string { return e.Err.Error() }
func (e *ModelError) Unwrap() error { return e.Err }

// ResolveGuard is the part of [Resolve] about what tools may do and touch, for callers
// that need no model.
func ResolveGuard(in Inputs) (Guard, Sandbox, error) {
	if in.Config == nil {
		in.Config = Default()
	}
	m, err := in.mergeLayers()
	if err != nil {
		return Guard{}, Sandbox{}, err
	}
	g := in.Config.Guard
	g.Confinement, g.Rules, g.CallableBy = m.Confinement, in.allRules(), m.CallableBy
	return g, in.resolveSandbox(m), nil
}

// ResolveLimits is the part of [Resolve] about the resources that tools may use.
func ResolveLimits(in Inputs) (Resources, error) {
	if in.Config == nil {
		in.Config = Default()
	}
	m, err := in.mergeLayers()
	return m.Resources, err
}

// Access says who may turn to an agent, and what its tools are permitted.
type Access struct {
	CallableBy      []string // who may ask it; nil: everybody
	ReadableBy      []string // agents that may read its context; nil: all
	ToolPermissions []string // nil: read, list and every plugin
}

// ResolveAccess is the part of [Resolve] about that, for callers that need no model.
func ResolveAccess(in Inputs) (Access, error) {
	if in.Config == nil {
		in.Config = Default()
	}
	m, err := in.mergeLayers()
	return Access{m.CallableBy, m.ReadableBy, m.ToolPermissions}, err
}

// resolveSandbox returns the additions to the sandbox for one context.
func (in Inputs) resolveSandbox(m merged) Sandbox {
	all := in.Config.Sandbox
	return Sandbox{Home: all.Home, Write: in.absolutePaths(all.Write), Hide: in.absolutePaths(all.Hide), Lend: in.absolutePaths(m.Lend), Sockets: in.absolutePaths(all.Sockets), Hosts: m.Hosts}
}

// absolutePaths makes paths absolute; what is lent by a name stays.
func (in Inputs) absolutePaths(list []string) []string {
	var out []string
	for _, p := range list {
		if !lentByName(p) {
			p = in.absolutePath(p)
		}
		out = append(out, p)
	}
	return out
}

// lentByName reports whether an item of lend is no path: the socket of an ssh-agent, or the
// stored logins of a program.
func lentByName(item string) bool {
	return item == "ssh-agent" || guard.CredentialFiles(item, "") != nil
}

// Agent returns the [[agents]] entry of a name, or nil.
func (c *Config) Agent(name fika.AgentName) *Agent {
	if i := c.entryIndex(string(name)); i >= 0 && name != "" {
		return &c.Agents[i]
	}
	return nil
}

// Wakes reports whether the hub starts the agent of an entry when there is work.
func (c *Config) Wakes(a *Agent) bool {
	return a.Wake || a.AutoStart && a.Persistent && c.Master.AutoStartAgents
}

// WhereAgent returns where an agent is defined; false if it is not.
func (c *Config) WhereAgent(name fika.AgentName) (Place, bool) {
	i := c.entryIndex(string(name))
	if i < 0 {
		return Place{}, false
	}
	return c.placeOf("agents", i, "id"), true
}

func (s *Settings) setLifecycle(entry *Agent) {
	a := defaultAgent()
	if entry != nil {
		a, s.Entry = *entry, true
		s.Description = a.Description
		if a.Name != "" {
			s.DisplayName = a.Name
		}
	}
	s.Engine, s.Command, s.Billing, s.prices = a.Engine, a.Command, a.Billing, a.Prices
	s.Backed, s.Pool = len(a.Backup) > 0, a.Pool
	s.Persistent, s.MaxIdle, s.MaxConcurrent = a.Persistent, a.MaxIdle, a.MaxConcurrent
}

// resolveModel resolves the model, how it is reached and its limits; for an agent with
// several models, all of them.
func (in Inputs) resolveModel(m merged, s *Settings) error {
	if err := in.resolveChoice(m, s); err != nil || s.Choice.Models != nil {
		return err
	}
	var err error
	s.ModelUse, err = in.modelUse(m)
	return err
}

// modelUse resolves one model.
func (in Inputs) modelUse(m merged) (ModelUse, error) {
	c := in.Config
	var def Model
	var err error
	keys := in.Keys
	if keys == nil {
		keys = in.Env
	}
	if m.Model == "" {
		if def, err = DefaultModel(keys); err != nil {
			return ModelUse{}, c.namingModels(err)
		}
		if defined, ok := c.defineModel(def.ID); ok { // with its own address or prices
			def = defined
		}
	} else {
		var ok bool
		if def, ok = c.defineModel(m.Model); !ok {
			if !c.isReachable(m.Model) && !m.own["base_url"] {
				why, at := c.unknownModel(m.Model), m.origins["model"]
				if !strings.HasPrefix(at, "flag ") { // else the person has just typed it
					why = at + ": " + why
				}
				return ModelUse{}, fika.Errorf(fika.Invalid, "choose model", "%s", why)
			}
			def = Model{ID: m.Model}
		}
	}
	own := route{m.ownText("base_url", &m.BaseURL), m.ownText("api_key_env", &m.APIKeyEnv), m.ownText("provider", &m.Provider)}
	if def, err = c.completeModel(def, own, keys); err != nil {
		return ModelUse{}, err
	}
	if def.Rules != "" {
		def.Rules = in.absolutePath(def.Rules)
	}
	if def.Provider == Scripted && def.Rules == "" {
		return ModelUse{}, fika.Errorf(fika.Invalid, "choose model", "the scripted model %s has no rules", toml.Quote(def.ID))
	}
	u := ModelUse{Model: def, Reasoning: def.Reasoning}
	if m.Reasoning != nil {
		u.Reasoning = m.Reasoning
	}
	u.MaxTokens = firstSet(m.MaxTokens, def.MaxTokens)
	u.ContextWindow = firstSet(m.ContextWindowLimit, def.ContextWindow, DefaultContextWindow)
	return u, nil
}

func firstSet(list ...int64) int64 {
	for _, n := range list {
		if n != 0 {
			return n
		}
	}
	return 0
}

// isPath distinguishes a path to a prompt from the prompt itself.
func isPath(s string) bool {
	if s == "" || strings.ContainsAny(s, "\r\n") {
		return false
	}
	for _, head := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(s, head) {
			return true
		}
	}
	return !strings.Contains(s, " ") && (strings.HasSuffix(s, ".md") || strings.HasSuffix(s, ".txt"))
}

// absolutePath makes a path from a file absolute: ~ is the person's folder, other
// relative paths start at the home.
func (in Inputs) absolutePath(p string) string { return ExpandPath(in.Home, p) }

// ExpandPath makes a path from a file absolute: ~ is the person's folder, relative
// paths start at home, and an empty path stays empty.
func ExpandPath(home, p string) string {
	switch {
	case p == "":
		return ""
	case p == "~", strings.HasPrefix(p, "~/"):
		return filepath.Join(userHome(), strings.TrimPrefix(p, "~"))
	case filepath.IsAbs(p):
		return filepath.Clean(p)
	}
	return filepath.Join(home, p)
}

func lineOf(p Place) string {
	if p.Line == 0 { // not a file
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}
