package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/bus"
	"fika/internal/chat"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/plugin"
	"fika/internal/tool"
	"fika/internal/tool/note"
)

// PluginState is one plugin as lists show it.
type PluginState struct {
	plugin.Info
	Enabled bool
	Shipped bool     // fika brings one of that name
	Missing []string // variables it asks for and does not get
	Trouble string
}

// Plugins lists the plugins of the home: those in use, those turned off, and
// those in trouble.
func (a *App) Plugins(ctx context.Context) ([]PluginState, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	trouble := map[string]string{}
	o, err := a.pluginOptions(h, c, func(name string, err error) { trouble[name] = err.Error() })
	if err != nil {
		return nil, err
	}
	opened, err := plugin.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	var list []PluginState
	for _, info := range opened.List() {
		s := PluginState{Info: info, Enabled: true, Trouble: trouble[info.Name]}
		for _, name := range info.Env {
			if !slices.Contains(c.Plugins[info.Name].Env, name) {
				s.Missing = append(s.Missing, name)
			}
		}
		delete(trouble, info.Name)
		list = append(list, s)
	}
	for name, p := range c.Plugins {
		if p.Disabled {
			list = append(list, PluginState{Info: plugin.Info{Name: name}})
		}
	}
	for name, why := range trouble {
		list = append(list, PluginState{Info: plugin.Info{Name: name}, Trouble: why})
	}
	for i := range list {
		list[i].Shipped = slices.Contains(plugin.Shipped(), list[i].Name)
	}
	slices.SortFunc(list, func(x, y PluginState) int { return compareText(x.Name, y.Name) })
	return list, nil
}

// pluginTrouble says what is wrong with a plugin, which its error may name.
func pluginTrouble(name string, err error) string {
	if text := err.Error(); strings.HasPrefix(text, "plugin "+name) {
		return text
	}
	return "plugin " + name + ": " + err.Error()
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// pluginOptions are those of a home, for commands that belong to no context.
func (a *App) pluginOptions(h folder.Home, c *config.Config, report func(string, error)) (plugin.Options, error) {
	state, err := h.State()
	if err != nil {
		return plugin.Options{}, err
	}
	settings, err := a.PlainSettings(state.Current)
	if err != nil {
		return plugin.Options{}, err
	}
	own := a.lookAt(h.Folder(state.Current), settings)
	w := &workshop{own: own, notes: &note.Book{}, chats: chat.New(nil, Ringer{Bus: bus.Nobody{}})}
	o := own.pluginOptions(workshopOptions{warn: func(string) {}}, settings.WorkspaceOr(a.Dir()), append(own.builtins(), w.furniture(nil)...))
	o.Report = report
	return o, nil
}

// CheckPlugin looks at one plugin, a file or the name of an installed one, and
// makes a trial call if there is one.
func (a *App) CheckPlugin(ctx context.Context, path string, trial *plugin.Trial, p Person) (plugin.Report, error) {
	o, err := a.onePlugin(p)
	if err != nil {
		return plugin.Report{}, err
	}
	return plugin.Check(ctx, o, path, trial)
}

// CallPlugin calls a tool of an installed plugin, as a model would.
func (a *App) CallPlugin(ctx context.Context, name string, args json.RawMessage, p Person) (tool.Result, error) {
	o, err := a.onePlugin(p)
	if err != nil {
		return tool.Result{}, err
	}
	o.Report = func(name string, err error) { p.Warn(pluginTrouble(name, err)) }
	opened, err := plugin.Open(ctx, o)
	if err != nil {
		return tool.Result{}, err
	}
	return opened.Call(ctx, tool.Call{Name: name, Args: args, Agent: o.Agent, Context: o.Context, Workspace: o.Workspace, Username: o.Username, Stdin: p.Stdin})
}

func (a *App) onePlugin(p Person) (plugin.Options, error) {
	h, err := a.Home()
	if err != nil {
		return plugin.Options{}, err
	}
	c, err := a.Config()
	if err != nil {
		return plugin.Options{}, err
	}
	o, err := a.pluginOptions(h, c, nil)
	o.Stdin, o.Stderr, o.Verbose = p.Stdin, p.Stderr, p.Verbose
	return o, err
}

// InstallPlugin puts a plugin into the home: one that fika brings along, or a
// file or folder that passes the check. With workflow come the workflow prompts. Which
// variables it asks for is in the report; nothing gives them to it yet.
func (a *App) InstallPlugin(ctx context.Context, name string, p Person) (plugin.Report, error) {
	h, err := a.Home()
	if err != nil {
		return plugin.Report{}, err
	}
	if err := h.EnsureDir(h.PluginsDir()); err != nil {
		return plugin.Report{}, err
	}
	if slices.Contains(plugin.Shipped(), name) {
		if _, err := plugin.Install(name, h.PluginsDir()); err != nil {
			return plugin.Report{}, err
		}
	} else if name, err = a.copyPlugin(ctx, h, name, p); err != nil {
		return plugin.Report{}, err
	}
	if name == "workflow" {
		if _, err := plugin.InstallWorkflows(h.WorkflowsDir()); err != nil {
			return plugin.Report{}, err
		}
	}
	return a.CheckPlugin(ctx, name, nil, p)
}

// WithoutTool names the agents and contexts of the home that may not use a
// plugin's tool, because their tool_permissions or tools_off say so. One whose
// settings cannot be read is not among them.
func (a *App) WithoutTool(name string) ([]string, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	names, _, err := h.List()
	if err != nil {
		return nil, err
	}
	for _, entry := range c.Agents {
		if id := fika.AgentName(entry.ID); !slices.Contains(names, id) {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	var lacking []string
	for _, n := range names {
		s, err := a.Settings(n, nil, true)
		if err == nil && (s.ToolPermissions != nil && !slices.Contains(s.ToolPermissions, name) || slices.Contains(s.ToolsOff, name)) {
			lacking = append(lacking, string(n))
		}
	}
	return lacking, nil
}

// copyPlugin installs a file or folder of the person's own, if it is a plugin.
func (a *App) copyPlugin(ctx context.Context, h folder.Home, path string, p Person) (string, error) {
	if filepath.Base(path) == path {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", fika.Errorf(fika.NotFound, "install plugin", "fika brings no plugin %q along, and there is no such file or folder; it brings %s", path, strings.Join(plugin.Shipped(), ", "))
		}
		path = "." + string(filepath.Separator) + path
	}
	if _, err := a.CheckPlugin(ctx, path, nil, p); err != nil {
		return "", err
	}
	to, err := plugin.Copy(path, h.PluginsDir())
	return filepath.Base(to), err
}

// GrantPlugin gives a plugin environment variables beside the usual ones.
func (a *App) GrantPlugin(name string, env []string) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	all := slices.Clone(c.Plugins[name].Env) // name is the plugin's, as in [plugins.NAME]
	for _, v := range env {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return config.SetPath(h.ConfigFile(), []string{"plugins", name, "env"}, all)
}

// EnablePlugin turns a plugin on or off without removing it.
func (a *App) EnablePlugin(name string, on bool) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	path, err := pluginPath(h, name)
	if err != nil {
		return err
	}
	return config.SetPath(h.ConfigFile(), []string{"plugins", plugin.Name(filepath.Base(path)), "disabled"}, !on)
}

// RemovePlugin takes a plugin out of the home. What it made stays.
func (a *App) RemovePlugin(name string) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	path, missing := pluginPath(h, name)
	if missing != nil && !fika.IsKind(missing, fika.NotFound) {
		return missing
	}
	if missing == nil {
		if err := os.RemoveAll(path); err != nil {
			return fika.Wrap(fika.Storage, "remove plugin", err)
		}
		name = filepath.Base(path)
	}
	// A guard whose file is gone refuses until it is forgotten, too.
	known, err := plugin.Forget(filepath.Join(h.RunDir(), "plugins.json"), name)
	if err == nil && !known {
		err = missing
	}
	return err
}

// pluginPath is the file or folder of an installed plugin, named with or
// without its extension.
func pluginPath(h folder.Home, name string) (string, error) {
	dir, err := os.ReadDir(h.PluginsDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fika.Wrap(fika.Storage, "find plugin", err)
	}
	for _, d := range dir {
		if d.Name() == name || plugin.Name(d.Name()) == name {
			return filepath.Join(h.PluginsDir(), d.Name()), nil
		}
	}
	return "", fika.Errorf(fika.NotFound, "", "no plugin is named %q; fika plugin list shows them", name)
}
