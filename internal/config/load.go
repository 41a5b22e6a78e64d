package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fika"
)

// Default gives the configuration of a home without files.
func Default() *Config {
	return &Config{
		PerContext: PerContext{
			Username:                 "user",
			AgentsMD:                 true,
			AutoCompactThreshold:     80,
			WarnThresholdPercent:     80,
			RollingCompactDrop:       50,
			MaxRecursionDepth:        30,
			ReflectionEnabled:        true,
			ReflectionCharacterLimit: 10000,
		},
		LockHeartbeat: 30 * time.Second,
		NATS: NATS{
			Timeout: 30 * time.Second, ReconnectAttempts: 5, ReconnectDelay: time.Second, SubjectPrefix: "fika",
		},
		Master: Master{AutoStartAgents: true, HeartbeatCheckInterval: 30 * time.Second},
		Hub:    Hub{Autostart: true},
		Chat:   Chat{MaxDepth: 100, MaxTurnsPerChain: 200},
		Tools: Tools{
			Timeout: 2 * time.Minute, MaxOutputBytes: 64 << 10, MaxSpoolBytes: 64 << 20, MaxFetchBytes: 1 << 20,
		},
		where: map[string]Place{},
	}
}

func defaultAgent() Agent {
	return Agent{Wake: true, MaxIdle: 10 * time.Minute, MaxConcurrent: 1}
}

// LoadHome reads config.toml and models.toml of a home. Either may be missing.
func LoadHome(home string) (*Config, error) {
	return Load(filepath.Join(home, "config.toml"), filepath.Join(home, "models.toml"))
}

// Load reads a configuration file and any number of files with further
// models. A file that does not exist counts as empty. What is wrong in all of
// them comes as one [*Problems], and then there is no Config; a file that
// cannot be read is an error of kind Storage.
func Load(path string, models ...string) (*Config, error) {
	c := Default()
	var problems Problems
	broken := false
	for i, file := range append([]string{path}, models...) {
		data, err := os.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fika.Wrap(fika.Storage, "read config", err)
		}
		c.Files = append(c.Files, file)
		s := &source{file: file, data: data, problems: &problems}
		c.read(s, i > 0)
		broken = broken || s.broken
	}
	if !broken {
		c.check(&problems)
	}
	if err := problems.orNil(); err != nil {
		return nil, err
	}
	return c, nil
}

// read adds one file to c.
func (c *Config) read(s *source, modelsOnly bool) {
	s.parse()
	r := &reader{source: s, where: c.where}
	if modelsOnly {
		type file struct{ Models *[]Model }
		decode(r, s.root, "", &file{&c.Models}, []key[file]{{name: "models", at: func(f *file) any { return f.Models }}}, nil)
		return
	}
	top, context := topKeys(), contextKeys()
	decode(r, s.root, "", c, top, func(e *entry) bool {
		if find(context, e.name) == nil {
			r.unknown(e, "", append(names(context), names(top)...))
			return true
		}
		decode(r, &table{entries: []entry{*e}}, "", &c.PerContext, context, nil)
		return true
	})
}

// Local is a context's own settings, from contexts/NAME/local.toml.
type Local struct {
	PerContext
	where map[string]Place
}

// LoadLocal reads a local.toml; one that does not exist is empty. Errors as
// [Load].
func LoadLocal(path string) (*Local, error) {
	l := &Local{where: map[string]Place{}}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, nil
	case err != nil:
		return nil, fika.Wrap(fika.Storage, "read config", err)
	}
	var problems Problems
	s := &source{file: path, data: data, problems: &problems}
	s.parse()
	r := &reader{source: s, where: l.where}
	context := contextKeys()
	decode(r, s.root, "", &l.PerContext, context, func(e *entry) bool {
		switch {
		case e.name == "lock_heartbeat_seconds":
			r.problem(e.at, "lock_heartbeat_seconds cannot differ between contexts; set it in config.toml")
		case find(topKeys(), e.name) != nil:
			r.problem(e.at, "%s cannot differ between contexts; set it in config.toml", e.name)
		case find(agentKeys(), e.name) != nil:
			r.problem(e.at, "%s belongs to the agent's [[agents]] entry in config.toml", e.name)
		default:
			return false
		}
		return true
	})
	if err := problems.orNil(); err != nil {
		return nil, err
	}
	return l, nil
}

// check looks at what concerns more than one key.
func (c *Config) check(p *Problems) {
	c.checkModels(p)
	agents := map[string]int{}
	for i := range c.Agents {
		a := &c.Agents[i]
		if first, twice := agents[a.ID]; twice && a.ID != "" {
			p.add(c.at("agents", i, "id"), "the agent %s is defined twice; the first is at %s", quote(a.ID), c.at("agents", first, "id"))
		} else {
			agents[a.ID] = i
		}
		if a.Model != "" && !c.reachable(a.Model) {
			p.add(c.at("agents", i, "model"), "%s", c.unknownModel(a.Model))
		}
	}
	if c.Model != "" && !c.reachable(c.Model) {
		p.add(c.where["model"], "%s", c.unknownModel(c.Model))
	}
	if d := c.Master.DefaultAgent; d != "" {
		if _, ok := agents[d]; !ok {
			var ids []string
			for _, a := range c.Agents {
				ids = append(ids, a.ID)
			}
			p.add(c.where["master.default_agent"], "there is no [[agents]] entry with the id %s%s", quote(d), meant(d, ids))
		}
	}
}

func (c *Config) checkModels(p *Problems) {
	seen := map[string]string{} // name → where
	for i := range c.Models {
		m := &c.Models[i]
		c.checkModel(p, i, m)
		for _, n := range []struct{ key, name string }{{"id", m.ID}, {"nickname", m.Nickname}} {
			if n.name == "" || n.key == "nickname" && n.name == m.ID {
				continue
			}
			at := c.at("models", i, n.key)
			if first, twice := seen[n.name]; twice {
				p.add(at, "the model %s is defined twice; the first is at %s", quote(n.name), first)
				continue
			}
			seen[n.name] = at.String()
		}
	}
}

func (c *Config) checkModel(p *Problems, i int, m *Model) {
	provider := m.Provider
	if provider == "" && m.BaseURL != "" {
		provider = guessProvider(m.BaseURL)
	}
	switch {
	case provider == Scripted && m.Rules == "":
		p.add(c.at("models", i, "provider"), "a scripted model needs rules = \"FILE\"")
	case provider != Scripted && m.Rules != "":
		p.add(c.at("models", i, "rules"), "rules belong to a model with provider = \"scripted\"")
	}
}

// at tells where a key of a list element stands, or the element itself when
// the key is not set.
func (c *Config) at(list string, i int, key string) Place {
	name := list + "[" + itoa(i) + "]"
	if p, ok := c.where[name+"."+key]; ok {
		return p
	}
	return c.where[name]
}

func (c *Config) unknownModel(name string) string {
	known := c.modelNames()
	if len(known) == 0 {
		return "the model " + quote(name) + " is not known: define it with [[models]] id and base_url"
	}
	return "there is no [[models]] entry with the id or nickname " + quote(name) + meant(name, known) + "; known are " + strings.Join(known, ", ")
}

func (c *Config) modelNames() []string {
	var list []string
	for _, m := range c.Models {
		list = append(list, m.ID)
		if m.Nickname != "" {
			list = append(list, m.Nickname)
		}
	}
	return list
}
