package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"fika"
	"fika/internal/llm/catalog"
	"fika/internal/rights/guard"
	"fika/internal/settings/toml"
)

// Default returns the configuration of a home without files.
func Default() *Config {
	return &Config{
		PerContext: PerContext{
			Username:                 "user",
			AgentsMD:                 true,
			AutoCompact:              true,
			AutoCompactThreshold:     80,
			WarnThresholdPercent:     80,
			RollingCompactDrop:       50,
			MaxRecursionDepth:        100,
			ReflectionEnabled:        true,
			ReflectionCharacterLimit: 10000,
			Patience:                 10 * time.Minute,
			PatienceBackground:       time.Hour,
		},
		LockHeartbeat: 30 * time.Second,
		NATS: NATS{
			Timeout: 30 * time.Second, ReconnectDelay: time.Second, ReconnectAttempts: 1, SubjectPrefix: "fika", RequestTools: RequestTools(),
		},
		Master:   Master{AutoStartAgents: true, HeartbeatCheckInterval: 30 * time.Second},
		Board:    Board{Patience: 10 * time.Minute, Tainted: TaskAsks},
		Landing:  Landing{Into: "main", Strategy: LandRebase, Timeout: 30 * time.Minute, MaxRounds: 3, Mode: PushLocal, Remote: "origin"},
		Hub:      Hub{Autostart: true, MaxIdle: 30 * time.Minute},
		Terminal: Terminal{Markdown: true, Notify: true},
		Store:    Store{Backups: 3},
		Chat:     Chat{Limits: Limits{MaxDepth: 100, MaxTurnsPerChain: 200, MaxEcho: 6}},
		Answer:   Answer{MaxToolCalls: 128, MaxBytes: 8 << 20, MaxSilent: 15 * time.Minute, MaxTime: 2 * time.Hour},
		Tools: Tools{
			Timeout: 2 * time.Minute, MaxOutputBytes: 64 << 10, MaxSpoolBytes: 64 << 20, MaxFetchBytes: 1 << 20, SearchAbove: 20, ServerIdle: 10 * time.Minute, GuestIdle: 10 * time.Minute,
			DelegateDeadline: 10 * time.Minute, MaxDelegateDeadline: 24 * time.Hour,
		},
		Guard:   Guard{Confinement: Confinement{SandboxMode: "best", Network: "off", Rights: guard.RightsOwn, Taint: guard.TaintTighten}, Default: "allow", ApprovalTimeout: 24 * time.Hour},
		Sandbox: Sandbox{Home: HomeHidden},
		where:   map[string]Place{},
		known:   catalog.Shipped(),
	}
}

func defaultAgent() Agent {
	return Agent{Wake: true, MaxIdle: 10 * time.Minute, MaxConcurrent: 1, BoardMax: 1}
}

// LoadHome reads the settings of a home that belongs to no project; see [LoadLayers].
func LoadHome(home string) (*Config, error) { return LoadLayers(Layers{Home: home}) }

// Equal reports whether two configurations were read from the same texts.
func (c *Config) Equal(other *Config) bool { return slices.Equal(c.texts, other.texts) }

// Load reads a configuration file and any number of files with further models. A
// missing file counts as empty. Everything wrong in all of them is returned as one
// [*Problems], without a Config; anything but a regular file is an error of kind
// Invalid, an unreadable file one of kind Storage.
func Load(path string, models ...string) (*Config, error) {
	l := loading{config: Default()}
	for i, file := range append([]string{path}, models...) {
		data, ok, err := readFile(file)
		if err != nil {
			return nil, err
		}
		if ok {
			l.addFile(fileText{Path: file, Text: string(data), Models: i > 0})
		}
	}
	return l.finishLoading()
}

// Parse is [Load] for the text of one configuration file; file is its name in messages.
func Parse(file string, data []byte) (*Config, error) {
	l := loading{config: Default()}
	l.addFile(fileText{Path: file, Text: string(data)})
	return l.finishLoading()
}

// readFile returns false for a missing file. It refuses a device, a pipe or a folder
// before reading a byte, since reading those may never end, and reads at most one byte
// more than toml.MaxFile of a regular file.
func readFile(file string) ([]byte, bool, error) {
	const op = "read config"
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that nobody writes to opens at once
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fika.Wrap(fika.Storage, op, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, fika.Wrap(fika.Storage, op, err)
	}
	if !info.Mode().IsRegular() {
		return nil, false, fika.Errorf(fika.Invalid, op, "%s is not a regular file but %s; put a text file there, or remove it", file, fileKind(info.Mode()))
	}
	data, err := io.ReadAll(io.LimitReader(f, toml.MaxFile+1))
	return data, err == nil, fika.Wrap(fika.Storage, op, err)
}

func fileKind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else (" + m.Type().String() + ")"
}

// loading is a configuration being loaded.
type loading struct {
	config   *Config
	problems Problems
	broken   bool // a file could not be parsed completely
}

// readKnown replaces the table of known models.
func (l *loading) readKnown(f fileText) {
	known, err := catalog.Parse([]byte(f.Text))
	if err != nil {
		l.problems.Add(Place{File: f.Path}, "%v; correct the file, or remove it to have the table that fika comes with", err)
		l.broken = true
		return
	}
	l.config.known = known
}

func (l *loading) addFile(f fileText) {
	l.config.Files = append(l.config.Files, f.Path)
	l.config.texts = append(l.config.texts, f)
	if f.Known {
		l.readKnown(f)
		return
	}
	var s *toml.Source
	if f.Agent {
		s = readAgent(f.Path, []byte(f.Text), &l.problems)
	} else {
		s = toml.Read(f.Path, []byte(f.Text), &l.problems)
	}
	l.broken = l.broken || s.Broken
	l.config.gone = append(l.config.gone, takeFormer(s)...)
	switch f.Layer {
	case userLayer:
		keepUserKeys(s.Root, f.Base)
	case projectLayer:
		l.addProject(s, f)
		return
	}
	budgets := len(l.config.Budgets)
	l.config.readSource(s, f.Models)
	l.config.layBudgets(budgets, false)
}

// takeAccount makes the name of the person's account the username; see [Layers].
func (c *Config) takeAccount(name string) {
	_, isSet := c.where["username"]
	isMember := slices.ContainsFunc(c.BusMembers, func(m BusMember) bool { return strings.EqualFold(m.Name, name) })
	if _, err := fika.ParseUsername(name); err != nil || isSet || isMember || c.entryIndex(strings.ToLower(name)) >= 0 {
		return
	}
	c.Username, c.where["username"] = name, Place{File: "environment USER"}
}

func (l *loading) finishLoading() (*Config, error) {
	if !l.broken {
		l.config.expandPools()
		(&crossCheck{l.config, &l.problems}).checkTogether()
	}
	err := l.problems.Err(l.config.Files...)
	switch {
	case err == nil:
		return l.config, nil
	case l.broken:
		return nil, err
	}
	return nil, &WrongError{Config: l.config, Err: err}
}

// WrongError says that the files can be read and something in them is wrong. Config holds
// what they say, for those who look for more mistakes in it.
type WrongError struct {
	Config *Config
	Err    error
}

func (e *WrongError) Error() string { return e.Err.Error() }
func (e *WrongError) Unwrap() error { return e.Err }

// readSource adds one file to c.
func (c *Config) readSource(s *toml.Source, modelsOnly bool) {
	r := &reader{Source: s, where: c.where}
	if modelsOnly {
		type file struct{ Models *[]Model }
		decodeTable(r, s.Root, "", &file{&c.Models}, []key[file]{{name: "models", at: func(f *file) any { return f.Models }}}, func(e *entry) bool {
			elsewhere := findKey(contextKeys(), e.Name) != nil || findKey(topKeys(), e.Name) != nil
			if elsewhere {
				r.Problem(e.At, "%s is not about models; set it in config.toml", e.Name)
			}
			return elsewhere
		})
		return
	}
	top, context := topKeys(), contextKeys()
	decodeTable(r, s.Root, "", c, top, func(e *entry) bool {
		if findKey(context, e.Name) == nil {
			r.reportUnknown(e, "", append(keyNames(context), keyNames(top)...))
			return true
		}
		if table := findKey(context, e.Name).inherits; table != "" {
			r.Problem(e.At, "%s is set in [%s] for all agents, and for one in its [[agents]] entry or its local.toml", e.Name, table)
			return true
		}
		decodeTable(r, &table{Entries: []entry{*e}}, "", &c.PerContext, context, nil)
		return true
	})
}

// Local holds a context's own settings, from contexts/NAME/local.toml.
type Local struct {
	PerContext
	where map[string]Place
}

// WhereSet returns where a key was set. The second result is false if the file does not
// set it.
func (l *Local) WhereSet(key string) (Place, bool) {
	p, ok := l.where[key]
	return p, ok
}

// LoadLocal reads a local.toml; a missing file counts as empty. Errors are those of
// [Load]. Whether the model it names exists is checked by [Resolve].
func LoadLocal(path string) (*Local, error) {
	data, _, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return ParseLocal(path, data)
}

// ParseLocal is [LoadLocal] for a given text; file is its name in messages.
func ParseLocal(file string, data []byte) (*Local, error) {
	l := &Local{where: map[string]Place{}}
	var problems Problems
	s := toml.Read(file, data, &problems)
	takeFormer(s)
	r := &reader{Source: s, where: l.where}
	decodeTable(r, s.Root, "", &l.PerContext, contextKeys(), func(e *entry) bool {
		switch {
		case findKey(topKeys(), e.Name) != nil && findKey(contextKeys(), e.Name) == nil:
			r.Problem(e.At, "%s cannot differ between contexts; set it in config.toml", e.Name)
		case findKey(agentKeys(), e.Name) != nil:
			r.Problem(e.At, "%s belongs to the agent's [[agents]] entry in config.toml", e.Name)
		default:
			return false
		}
		return true
	})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return l, nil
}
