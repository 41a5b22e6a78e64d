package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/plugin"
)

// Person is who a command talks with while it works.
type Person struct {
	Stdin   io.Reader // for plugins that ask; nil: nobody is there
	Stderr  io.Writer // what plugins say
	Warn    func(string)
	Verbose bool
}

// ContextInfo is a context as lists show it.
type ContextInfo struct {
	Name     fika.AgentName
	Current  bool
	Previous bool
	Exists   bool // the current context may not have been made yet
	Lock     folder.LockState
	Updated  time.Time // of its last entry; zero: none
}

// Process reports whether the context is held by its agent's own process.
func (c ContextInfo) Process() bool { return c.Lock.Held && c.Lock.Info.Kind == folder.LockAgent }

// Contexts lists the contexts by name, and the names in contexts/ that cannot
// be contexts. It reads files alone and takes no lock.
func (a *App) Contexts() (list []ContextInfo, strange []string, err error) {
	h, err := a.Home()
	if err != nil {
		return nil, nil, err
	}
	state, err := h.State()
	if err != nil {
		return nil, nil, err
	}
	names, strange, err := h.List()
	if err != nil {
		return nil, nil, err
	}
	there := false
	for _, n := range names {
		there = there || n == state.Current
		c, err := contextInfo(h.Folder(n), state)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, c)
	}
	if !there {
		list = append([]ContextInfo{{Name: state.Current, Current: true, Lock: folder.LockState{Status: folder.LockFree}}}, list...)
	}
	return list, strange, nil
}

func contextInfo(f folder.Folder, state folder.State) (ContextInfo, error) {
	c := ContextInfo{Name: f.Name, Current: f.Name == state.Current, Previous: f.Name == state.Previous, Exists: true}
	if st, err := os.Stat(f.Path() + "/context.jsonl"); err == nil && st.Size() > 0 {
		c.Updated = st.ModTime()
	}
	var err error
	c.Lock, err = f.Inspect()
	return c, err
}

// NewContextOptions is a context to be made.
type NewContextOptions struct {
	Prompt    string // its system prompt; empty: the default one
	IfMissing bool   // one that exists is no error, and is left as it is
	Wait      time.Duration
}

// NewContext makes a context. The second result is false when it was there
// already. Conflict without IfMissing.
func (a *App) NewContext(ctx context.Context, name fika.AgentName, o NewContextOptions) (bool, error) {
	h, err := a.Home()
	if err != nil {
		return false, err
	}
	f, err := h.Create(name)
	if fika.IsKind(err, fika.Conflict) && o.IfMissing {
		return false, nil
	}
	if err != nil || o.Prompt == "" {
		return err == nil, err
	}
	return true, a.writePrompt(ctx, f, o.Prompt, o.Wait)
}

// FreshContext makes a context named by the present time,
// [prefix_]YYYYMMDD_HHMMSS[_N].
func (a *App) FreshContext(ctx context.Context, prefix string, o NewContextOptions) (fika.AgentName, error) {
	const most = 32 - len("_20060102_150405_99")
	if len(prefix) > most {
		return "", fika.Errorf(fika.Invalid, "", "the prefix %q is too long: at most %d characters go before the date and time", prefix, most)
	}
	stem := a.Now().Format("20060102_150405")
	if prefix != "" {
		stem = prefix + "_" + stem
	}
	o.IfMissing = false
	for n := 1; n < 100; n++ {
		word := stem
		if n > 1 {
			word = fmt.Sprintf("%s_%d", stem, n)
		}
		name, err := fika.ParseAgentName(word)
		if err != nil {
			return "", err
		}
		if _, err = a.NewContext(ctx, name, o); !fika.IsKind(err, fika.Conflict) {
			return name, err
		}
	}
	return "", fika.Errorf(fika.Conflict, "", "there are too many contexts called %s already: try again in a second", stem)
}

// SwitchContext makes a context current and tells the hooks. It returns which
// one was current before.
func (a *App) SwitchContext(ctx context.Context, to fika.AgentName, p Person) (fika.AgentName, error) {
	h, err := a.Home()
	if err != nil {
		return "", err
	}
	before, err := h.State()
	if err != nil || before.Current == to {
		return to, err
	}
	if _, err := h.Switch(to); err != nil {
		return before.Current, err
	}
	hooks, err := a.hooks(ctx, h.Folder(to), p)
	if err == nil {
		_, err = hooks.Fire(ctx, hook.OnContextSwitch, switched(before.Current, to, false))
	}
	if err != nil {
		p.Warn("on_context_switch: " + err.Error())
	}
	return before.Current, nil
}

func switched(from, to fika.AgentName, sub bool) hook.Payload {
	return hook.Payload{"from_context": string(from), "to_context": string(to), "is_sub_context": sub}
}

// hooks opens the plugins for a context that nobody has to own for it.
func (a *App) hooks(ctx context.Context, f folder.Folder, p Person) (hook.Runner, error) {
	settings, err := a.PlainSettings(f.Name)
	if err != nil {
		return nil, err
	}
	own := &Owned{App: a, Folder: f, Settings: settings, Agent: fika.Agent{Name: f.Name}}
	return own.hooks(ctx, p)
}

// hooks opens the plugins alone, without the tools.
func (own *Owned) hooks(ctx context.Context, p Person) (hook.Runner, error) {
	dir := own.Settings.WorkspaceOr(own.App.Dir())
	return plugin.Open(ctx, own.pluginOptions(workshopOptions{
		stdin: p.Stdin, stderr: p.Stderr, warn: p.Warn, verbose: p.Verbose,
	}, dir, own.builtins()))
}

func (a *App) settingsFor(o OwnOptions) (config.Settings, error) {
	if o.Plain {
		return a.PlainSettings(o.Name)
	}
	return a.Settings(o.Name, o.Flags, o.Quiet)
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
	if entry := c.Agent(name); entry != nil {
		s.Entry, s.Description = true, entry.Description
		if entry.Name != "" {
			s.DisplayName = entry.Name
		}
	}
	return s, nil
}
