package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
)

// configuration is the config of the home as this process knows it. A command
// reads it once. A process that lives long follows the files: what stands there
// now is in force, and while they cannot be read, what stood there last.
type configuration struct {
	mu      sync.Mutex
	now     *config.Config // nil: not read yet
	stamp   config.Stamp   // of the files when they were read
	follows bool
	broken  error        // why the files are not what now says; nil: they are
	tell    func(string) // of a change for the worse, and of its end
}

// HomeAndConfig opens the home and reads its settings: see Home and Config.
func (a *App) HomeAndConfig() (folder.Home, *config.Config, error) {
	h, err := a.Home()
	if err != nil {
		return h, nil, err
	}
	c, err := a.Config()
	return h, c, err
}

// Config gives what config.toml and models.toml say. In a process that follows
// them the answer may change from call to call, and the error is that of the
// first reading: later ones fall back on what could be read last. It may be
// called from many goroutines.
func (a *App) Config() (*config.Config, error) {
	c := &a.config
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && !c.follows {
		return c.now, nil
	}
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	paths, err := a.ConfigPaths()
	if err != nil {
		return nil, err
	}
	stamp := config.StampOf(paths...) // before reading: a change meanwhile is seen next time
	if c.now != nil && stamp.Same(c.stamp) {
		return c.now, nil
	}
	c.stamp = stamp
	read, err := a.LoadConfig()
	if err != nil {
		return a.fallBack(root, err)
	}
	if c.broken != nil {
		c.broken = nil
		c.tell("the configuration can be read again, and is in force")
	}
	if c.now == nil || !c.now.Equal(read) {
		c.now = read
		if KeepConfig(root, read) && len(read.Ignored) > 0 { // once for each text of the files
			a.opts.Warn(ignoredKeys(read))
		}
	}
	return c.now, nil
}

// fallBack answers while the files cannot be read.
func (a *App) fallBack(root string, cause error) (*config.Config, error) {
	c := &a.config
	since := ""
	if c.now == nil {
		if !a.opts.LastGood {
			return nil, cause
		}
		last, at, err := config.LoadLast(lastGoodFile(root))
		if err != nil {
			return nil, cause
		}
		c.now, since = last, " of "+at.Local().Format("2006-01-02 15:04")
	}
	if c.broken == nil || c.broken.Error() != cause.Error() {
		tell := c.tell
		if tell == nil {
			tell = a.opts.Warn
		}
		tell(BrokenConfig(cause) + "; until that is mended the last settings that could be read" + since + " are in force")
	}
	c.broken = cause
	return c.now, nil
}

// Broken says why the configuration in force is not what the files say now,
// or is empty.
func (a *App) Broken() string {
	a.config.mu.Lock()
	defer a.config.mu.Unlock()
	if a.config.broken == nil {
		return ""
	}
	return BrokenConfig(a.config.broken)
}

// FollowConfig makes this process follow the files; tell hears when they cannot
// be read.
func (a *App) FollowConfig(tell func(string)) {
	a.config.mu.Lock()
	defer a.config.mu.Unlock()
	a.config.follows, a.config.tell = true, tell
}

// BrokenConfig says in one line what is wrong with the files.
func BrokenConfig(cause error) string {
	var p *config.Problems
	if !errors.As(cause, &p) || len(p.List) == 0 {
		return cause.Error()
	}
	text := p.List[0].String()
	if n := len(p.List) + p.More - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more: fika config check)", n)
	}
	return text
}

func lastGoodFile(root string) string { return filepath.Join(root, "run", "config.last") }

// KeepConfig keeps a configuration for the time when its files cannot be read,
// and reports whether it is another than the one that was kept. That it cannot
// be kept costs only that.
func KeepConfig(root string, c *config.Config) bool {
	if info, err := os.Stat(root); err != nil || !info.IsDir() || len(c.Files) == 0 {
		return false
	}
	path := lastGoodFile(root)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false
	}
	changed, err := c.Keep(path)
	return changed && err == nil
}

// ignoredKeys says in one line which keys of the files do nothing.
func ignoredKeys(c *config.Config) string {
	text := c.Ignored[0].String() + "; remove it"
	if n := len(c.Ignored) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more: fika config check)", n)
	}
	return text
}

// Settings resolves the settings of a context as its files are now.
func (a *App) Settings(name fika.AgentName, flags map[string]string, quiet bool) (config.Settings, error) {
	in, err := a.settingInputs(name, flags, quiet)
	if err != nil {
		return config.Settings{}, err
	}
	return config.Resolve(in)
}

func (a *App) settingInputs(name fika.AgentName, flags map[string]string, quiet bool) (config.Inputs, error) {
	root, err := a.Root()
	if err != nil {
		return config.Inputs{}, err
	}
	c, err := a.Config()
	if err != nil {
		return config.Inputs{}, err
	}
	local, err := config.LoadLocal(folder.Home{Root: root}.Folder(name).LocalConfig())
	if err != nil {
		return config.Inputs{}, err
	}
	in := config.Inputs{Home: root, Agent: name, Config: c, Local: local, Env: a.opts.Getenv, Keys: keyring{a}.lookup, Flags: flags}
	if quiet {
		in.Env = nil
	}
	return in, nil
}

// CallableBy says who may ask an agent for work, as its files are now; nil is
// everybody.
func (a *App) CallableBy(name fika.AgentName) ([]string, error) {
	in, err := a.settingInputs(name, nil, true)
	if err != nil {
		return nil, err
	}
	g, _, err := config.ResolveGuard(in)
	return g.CallableBy, err
}

// PlainSettings are what a command needs that asks no model: they neither
// need a model nor a valid local.toml.
func (a *App) PlainSettings(name fika.AgentName) (config.Settings, error) {
	c, err := a.Config()
	if err != nil {
		return config.Settings{}, err
	}
	s := config.Settings{
		Agent: name, DisplayName: string(name), Username: c.Username, LockHeartbeat: c.LockHeartbeat,
		Tools: c.Tools, Plugins: c.Plugins, Chat: c.Chat,
	}
	in, err := a.settingInputs(name, nil, true)
	if err != nil { // its own file cannot be read
		in = config.Inputs{Home: a.opts.Root, Agent: name, Config: c}
	}
	if s.Guard, s.Sandbox, err = config.ResolveGuard(in); err != nil {
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
