package pluginadmin

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
	"fika/internal/app"
	"fika/internal/extension/plugin"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/text/hint"
	"fika/internal/tool"
	"fika/internal/worker"
)

// State is one plugin as lists show it.
type State struct {
	plugin.Info
	Enabled bool
	Shipped bool     // a plugin of this name comes with fika
	Missing []string // variables it asks for and does not get
	Trouble string
}

// List lists the plugins of the home: those in use, those turned off, and those in
// trouble.
func List(ctx context.Context, a *app.App) ([]State, error) {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return nil, err
	}
	trouble := map[string]string{}
	o, err := options(a, h, c, func(name string, err error) { trouble[name] = err.Error() })
	if err != nil {
		return nil, err
	}
	opened, err := plugin.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	var list []State
	for _, info := range opened.List() {
		s := State{Info: info, Enabled: true, Trouble: trouble[info.Name]}
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
			list = append(list, State{Info: plugin.Info{Name: name}})
		}
	}
	for name, why := range trouble {
		list = append(list, State{Info: plugin.Info{Name: name}, Trouble: why})
	}
	for i := range list {
		list[i].Shipped = slices.Contains(plugin.ShippedNames(), list[i].Name)
	}
	slices.SortFunc(list, func(x, y State) int { return compareText(x.Name, y.Name) })
	return list, nil
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

// options returns the plugin options of a home, for commands that belong to no context.
func options(a *app.App, h folder.Home, c *config.Config, report func(string, error)) (plugin.Options, error) {
	state, err := h.State()
	if err != nil {
		return plugin.Options{}, err
	}
	settings, err := a.PlainSettings(state.Current)
	if err != nil {
		return plugin.Options{}, err
	}
	tools := worker.NewToolbox(a, h.Folder(state.Current), settings)
	o := tools.PluginOptions(worker.PluginUse{
		Workspace: settings.WorkspaceOr(a.Dir()), Reserved: tools.AllNames(), Warn: func(string) {},
	})
	o.Report = report
	return o, nil
}

// ToolNames returns the names of fika's own tools and of the tools of this home's
// plugins, and the names of the plugins themselves, which also covers those that are
// turned off or in trouble.
func ToolNames(ctx context.Context, a *app.App) ([]string, error) {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return nil, err
	}
	o, err := options(a, h, c, nil)
	if err != nil {
		return nil, err
	}
	plugins, err := List(ctx, a)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(o.Reserved)
	for _, p := range plugins {
		names = append(append(names, plugin.NameOfFile(p.Name)), p.Tools...)
	}
	return names, nil
}

// Check checks one plugin, given as a file or by the name of an installed one, and makes
// a trial call if there is one.
func Check(ctx context.Context, a *app.App, path string, trial *plugin.Trial, p app.Person) (plugin.Report, error) {
	o, err := optionsFor(a, p)
	if err != nil {
		return plugin.Report{}, err
	}
	return plugin.CheckSchema(ctx, o, path, trial)
}

// CallTool calls a tool of an installed plugin, as a model would.
func CallTool(ctx context.Context, a *app.App, name string, args json.RawMessage, p app.Person) (tool.Result, error) {
	o, err := optionsFor(a, p)
	if err != nil {
		return tool.Result{}, err
	}
	o.Report = func(name string, err error) { p.Warn(worker.PluginTrouble(name, err)) }
	opened, err := plugin.Open(ctx, o)
	if err != nil {
		return tool.Result{}, err
	}
	return opened.Call(ctx, tool.Call{Name: name, Args: args, Agent: o.Agent, Context: o.Context, Workspace: o.Workspace, Username: o.Username, Stdin: p.Stdin})
}

func optionsFor(a *app.App, p app.Person) (plugin.Options, error) {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return plugin.Options{}, err
	}
	o, err := options(a, h, c, nil)
	o.Stdin, o.Stderr, o.Verbose = p.Stdin, p.Stderr, p.Verbose
	return o, err
}

// Install installs a plugin into the home: one that comes with fika, or a file or folder
// that passes the check. The plugin workflow brings the workflow prompts. The report says
// which variables the plugin asks for; they are not granted yet.
func Install(ctx context.Context, a *app.App, name string, p app.Person) (plugin.Report, error) {
	h, err := a.Home()
	if err != nil {
		return plugin.Report{}, err
	}
	if err := h.EnsureDir(h.PluginsDir()); err != nil {
		return plugin.Report{}, err
	}
	if slices.Contains(plugin.ShippedNames(), name) {
		if _, err := plugin.InstallShipped(name, h.PluginsDir()); err != nil {
			return plugin.Report{}, err
		}
	} else if name, err = copyPlugin(ctx, a, h, name, p); err != nil {
		return plugin.Report{}, err
	}
	if name == "workflow" {
		if _, err := plugin.InstallWorkflows(h.RecipesDir()); err != nil {
			return plugin.Report{}, err
		}
	}
	return Check(ctx, a, name, nil, p)
}

// WithoutTool names the agents and contexts of the home that may not use a plugin's tool,
// because their tool_permissions or tools_off say so. Agents and contexts whose settings
// cannot be read are left out.
func WithoutTool(a *app.App, name string) ([]string, error) {
	h, c, err := a.HomeAndConfig()
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

// copyPlugin installs a person's own file or folder, if it is a plugin.
func copyPlugin(ctx context.Context, a *app.App, h folder.Home, path string, p app.Person) (string, error) {
	if filepath.Base(path) == path {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", fika.WithHint(fika.Errorf(fika.NotFound, "install plugin", "plugin %q not found; built-in plugins: %s", path, strings.Join(plugin.ShippedNames(), ", ")), hint.PluginList.With())
		}
		path = "." + string(filepath.Separator) + path
	}
	if _, err := Check(ctx, a, path, nil, p); err != nil {
		return "", err
	}
	to, err := plugin.CopyIn(path, h.PluginsDir())
	return filepath.Base(to), err
}

// Grant grants a plugin environment variables beside the usual ones and, with home, the
// use of fika itself.
func Grant(a *app.App, name string, env []string, home bool) error {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return err
	}
	if home {
		if err := config.SetPath(h.ConfigFile(), []string{"plugins", name, "access"}, "home"); err != nil {
			return err
		}
	}
	if len(env) == 0 {
		return nil
	}
	all := slices.Clone(c.Plugins[name].Env) // name is the plugin's, as in [plugins.NAME]
	for _, v := range env {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return config.SetPath(h.ConfigFile(), []string{"plugins", name, "env"}, all)
}

// SetEnabled turns a plugin on or off without removing it.
func SetEnabled(a *app.App, name string, on bool) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	path, err := pluginPath(h, name)
	if err != nil {
		return err
	}
	return config.SetPath(h.ConfigFile(), []string{"plugins", plugin.NameOfFile(filepath.Base(path)), "disabled"}, !on)
}

// Remove removes a plugin from the home. Files that it made stay.
func Remove(a *app.App, name string) error {
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
	// A guard whose file is gone also refuses until it is forgotten.
	known, err := plugin.ForgetSchema(filepath.Join(h.RunDir(), "plugins.json"), name)
	if err == nil && !known {
		err = missing
	}
	return err
}

// pluginPath returns the file or folder of an installed plugin, named with or without its
// extension.
func pluginPath(h folder.Home, name string) (string, error) {
	dir, err := os.ReadDir(h.PluginsDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fika.Wrap(fika.Storage, "find plugin", err)
	}
	for _, d := range dir {
		if d.Name() == name || plugin.NameOfFile(d.Name()) == name {
			return filepath.Join(h.PluginsDir(), d.Name()), nil
		}
	}
	return "", fika.WithHint(fika.Errorf(fika.NotFound, "", "plugin %q not found", name), hint.PluginList.With())
}
