package config

import (
	"path/filepath"
	"strings"
	"time"

	"fika"
)

// Inputs are the layers a context's settings come from.
type Inputs struct {
	Home   string         // absolute; relative paths in files start here
	Agent  fika.AgentName // whose settings; the context's name
	Config *Config        // nil: [Default]
	Local  *Local         // nil: none
	// Env reads the environment (os.Getenv). nil: an empty one, as for agents
	// that the hub starts, which do not take FIKA_MODEL and its like. API keys
	// are looked up with Keys.
	Env func(string) string
	// Keys reads the environment for API keys when no model is configured;
	// nil: Env.
	Keys func(string) string
	// Flags are the keys given on the command line, by key as in local.toml.
	Flags map[string]string
	// FlagNames maps a key to how the flag was spelled, for Origins; nil or
	// missing: "--" + key.
	FlagNames map[string]string
}

// Settings are the resolved settings of one context.
type Settings struct {
	Agent        fika.AgentName
	DisplayName  string
	Description  string
	Capabilities []string
	Entry        bool // it has an [[agents]] entry

	Model         Model
	Reasoning     *Reasoning // nil: not asked for
	MaxTokens     int64      // of one answer; 0: the provider's default
	ContextWindow int64      // tokens; never 0
	Username      string

	SystemPrompt     string // the text itself, or empty
	SystemPromptFile string // absolute path, or empty
	ToolPermissions  []string
	ToolsOff         []string
	Workspace        string // absolute, or empty: the caller decides
	ReadableBy       []string
	Env              map[string]string
	AgentsMD         bool
	Trust            []string // absolute

	AutoCompact              bool
	AutoCompactThreshold     float64
	WarnThresholdPercent     float64
	RollingCompactDrop       float64
	MaxRecursionDepth        int
	ReflectionEnabled        bool
	ReflectionCharacterLimit int
	TurnTimeout              time.Duration

	LockHeartbeat time.Duration
	AutoStart     bool
	Persistent    bool
	Wake          bool
	MaxIdle       time.Duration
	MaxConcurrent int

	Chat    Chat
	Tools   Tools
	Plugins map[string]Plugin

	// Origins tells where each per-context key came from: "flag --model",
	// "environment FIKA_MODEL", "/home/…/local.toml:3", "default".
	Origins map[string]string
}

// DefaultContextWindow counts for a model whose window is unknown.
const DefaultContextWindow = 128_000

// Resolve puts the layers on top of each other: flags, environment,
// local.toml, the agent's [[agents]] entry, config.toml, defaults. Error kind:
// Invalid. It reads no files; it asks the network only when no model is
// configured anywhere and no key is set (see [DefaultModel]).
func Resolve(in Inputs) (Settings, error) {
	c := in.Config
	if c == nil {
		c = Default()
	}
	entry := c.Agent(in.Agent)
	merged, origins, err := in.merge(c, entry)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{
		Agent: in.Agent, DisplayName: string(in.Agent), Origins: origins,
		Username: merged.Username, ToolPermissions: merged.ToolPermissions, ToolsOff: merged.ToolsOff,
		ReadableBy: merged.ReadableBy, Env: merged.Env, AgentsMD: merged.AgentsMD,
		AutoCompact: merged.AutoCompact, AutoCompactThreshold: merged.AutoCompactThreshold,
		WarnThresholdPercent: merged.WarnThresholdPercent, RollingCompactDrop: merged.RollingCompactDrop,
		MaxRecursionDepth: merged.MaxRecursionDepth, ReflectionEnabled: merged.ReflectionEnabled,
		ReflectionCharacterLimit: merged.ReflectionCharacterLimit, TurnTimeout: merged.TurnTimeout,
		LockHeartbeat: c.LockHeartbeat, Chat: c.Chat, Tools: c.Tools, Plugins: c.Plugins,
		Workspace: in.path(merged.Workspace),
	}
	for _, t := range c.Trust {
		s.Trust = append(s.Trust, in.path(t))
	}
	if isPath(merged.SystemPrompt) {
		s.SystemPromptFile = in.path(merged.SystemPrompt)
	} else {
		s.SystemPrompt = merged.SystemPrompt
	}
	s.lifecycle(entry)
	if err := in.model(c, &merged, &s); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// Agent gives the [[agents]] entry of a name, or nil.
func (c *Config) Agent(name fika.AgentName) *Agent {
	for i := range c.Agents {
		if c.Agents[i].ID == string(name) {
			return &c.Agents[i]
		}
	}
	return nil
}

func (s *Settings) lifecycle(entry *Agent) {
	a := defaultAgent()
	if entry != nil {
		a, s.Entry = *entry, true
		s.Description, s.Capabilities = a.Description, a.Capabilities
		if a.Name != "" {
			s.DisplayName = a.Name
		}
	}
	s.AutoStart, s.Persistent, s.Wake = a.AutoStart, a.Persistent, a.Wake
	s.MaxIdle, s.MaxConcurrent = a.MaxIdle, a.MaxConcurrent
}

// layer is one source of per-context settings.
type layer struct {
	from   *PerContext
	origin func(key string) (string, bool) // false: the layer does not set the key
}

// merge takes each key from the first layer that sets it.
func (in Inputs) merge(c *Config, entry *Agent) (PerContext, map[string]string, error) {
	merged := c.PerContext
	origins := map[string]string{}
	var layers []layer
	if in.Local != nil {
		layers = append(layers, layer{&in.Local.PerContext, placed(in.Local.where, "")})
	}
	if entry != nil {
		for i := range c.Agents {
			if &c.Agents[i] == entry {
				layers = append(layers, layer{&entry.PerContext, placed(c.where, "agents["+itoa(i)+"].")})
			}
		}
	}
	layers = append(layers, layer{&c.PerContext, placed(c.where, "")})
	keys := contextKeys()
	for name := range in.Flags {
		if find(keys, name) == nil {
			return merged, nil, fika.Errorf(fika.Invalid, "settings", "there is no setting %s%s", quote(name), meant(name, names(keys)))
		}
	}
	for _, k := range keys {
		text, origin := in.given(k.name)
		if origin != "" {
			if wrong := k.parse(&merged, text); wrong != "" {
				return merged, nil, fika.Errorf(fika.Invalid, "settings", "%s: %s %s", origin, k.name, wrong)
			}
			origins[k.name] = origin
			continue
		}
		origins[k.name] = "default"
		for _, l := range layers {
			if where, ok := l.origin(k.name); ok {
				copyField(k.at(&merged), k.at(l.from))
				origins[k.name] = where
				break
			}
		}
	}
	return merged, origins, nil
}

// given looks a key up on the command line and in the environment.
func (in Inputs) given(name string) (text, origin string) {
	if text, ok := in.Flags[name]; ok {
		if flag := in.FlagNames[name]; flag != "" {
			return text, "flag " + flag
		}
		return text, "flag --" + strings.ReplaceAll(name, "_", "-")
	}
	if in.Env != nil && name != "env" {
		variable := EnvName(name)
		if text := in.Env(variable); text != "" {
			return text, "environment " + variable
		}
	}
	return "", ""
}

// EnvName gives the environment variable of a per-context key: FIKA_MODEL of
// model.
func EnvName(key string) string { return "FIKA_" + strings.ToUpper(key) }

func placed(where map[string]Place, prefix string) func(string) (string, bool) {
	return func(key string) (string, bool) {
		p, ok := where[prefix+key]
		return p.File + ":" + itoa(p.Line), ok
	}
}

// copyField copies the value behind one pointer to another of the same type.
func copyField(to, from any) {
	switch p := to.(type) {
	case *string:
		*p = *from.(*string)
	case *bool:
		*p = *from.(*bool)
	case *int:
		*p = *from.(*int)
	case *int64:
		*p = *from.(*int64)
	case *float64:
		*p = *from.(*float64)
	case *time.Duration:
		*p = *from.(*time.Duration)
	case *[]string:
		*p = *from.(*[]string)
	case *map[string]string:
		*p = *from.(*map[string]string)
	case **Reasoning:
		*p = *from.(**Reasoning)
	}
}

// parse reads a value given as plain text, on the command line or in the
// environment.
func (k key[T]) parse(target *T, text string) string {
	at := k.at(target)
	v := value{kind: textKind, text: text}
	switch p := at.(type) {
	case *bool:
		v.kind = boolKind
		if text != "true" && text != "false" {
			return "must be true or false; this is " + quote(text)
		}
	case *int, *int64:
		v.kind = intKind
	case *float64:
		v.kind = floatKind
	case *time.Duration:
		if strings.Trim(text, "0123456789") == "" {
			v.kind = intKind
		}
	case *[]string:
		v.kind = listKind
		for _, s := range strings.Split(text, ",") {
			if s = strings.TrimSpace(s); s != "" {
				v.items = append(v.items, value{kind: textKind, text: s})
			}
		}
	case **Reasoning:
		r, wrong := parseReasoning(text)
		if wrong == "" {
			*p = r
		}
		return wrong
	case *map[string]string:
		return "can only be set in a file"
	}
	wrong := assign(at, v, limits{k.unit, k.min, k.max, k.oneOf})
	if wrong == "" && k.check != nil {
		wrong = k.check(v, at)
	}
	return wrong
}

// parseReasoning reads an effort, a number of tokens, true or false.
func parseReasoning(text string) (*Reasoning, string) {
	r := &Reasoning{Enabled: true}
	switch {
	case text == "true":
	case text == "false", text == "none":
		r.Enabled = false
	case strings.Trim(text, "0123456789") == "":
		if wrong := assign(&r.MaxTokens, value{kind: intKind, text: text}, limits{min: 1}); wrong != "" {
			return nil, wrong
		}
	default:
		if wrong := assign(&r.Effort, value{kind: textKind, text: text}, limits{oneOf: efforts()}); wrong != "" {
			return nil, wrong
		}
	}
	return r, ""
}

// model settles which model it is, how it is reached and what it may use.
func (in Inputs) model(c *Config, merged *PerContext, s *Settings) error {
	var m Model
	if merged.Model == "" {
		keys := in.Keys
		if keys == nil {
			keys = in.Env
		}
		var err error
		if m, err = c.defaultModel(keys); err != nil {
			return err
		}
		s.Origins["model"] = "default"
	} else if found, ok := c.define(merged.Model); ok {
		m = found
	} else if merged.BaseURL == "" && !c.reachable(merged.Model) {
		return fika.Errorf(fika.Invalid, "choose model", "%s (from %s)", c.unknownModel(merged.Model), s.Origins["model"])
	} else {
		m = Model{ID: merged.Model}
	}
	above := func(key string) bool { // set above config.toml
		_, inFile := c.where[key]
		o := s.Origins[key]
		return o != "default" && (!inFile || o != c.where[key].File+":"+itoa(c.where[key].Line))
	}
	o := overlay{baseURL: merged.BaseURL, keyEnv: merged.APIKeyEnv, provider: merged.Provider}
	o.force = above("base_url") || above("api_key_env") || above("provider")
	m, err := c.complete(m, o)
	if err != nil {
		return err
	}
	if m.Rules != "" {
		m.Rules = in.path(m.Rules)
	}
	s.Model, s.Reasoning, s.MaxTokens = m, m.Reasoning, m.MaxTokens
	if merged.Reasoning != nil {
		s.Reasoning = merged.Reasoning
	}
	if s.Reasoning != nil && !s.Reasoning.Enabled {
		s.Reasoning = nil
	}
	if merged.MaxTokens != 0 {
		s.MaxTokens = merged.MaxTokens
	}
	s.ContextWindow = m.ContextWindow
	if s.ContextWindow == 0 {
		s.ContextWindow = DefaultContextWindow
	}
	if merged.ContextWindowLimit != 0 {
		s.ContextWindow = merged.ContextWindowLimit
	}
	return nil
}

// isPath tells a path to a prompt from the prompt itself.
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

// path makes a path of a file absolute: ~ is the person's folder, the rest is
// relative to the home.
func (in Inputs) path(p string) string {
	switch {
	case p == "":
		return ""
	case p == "~", strings.HasPrefix(p, "~/"):
		if dir := userHome(); dir != "" {
			return filepath.Join(dir, strings.TrimPrefix(p, "~"))
		}
		return p
	case filepath.IsAbs(p):
		return filepath.Clean(p)
	}
	return filepath.Join(in.Home, p)
}
