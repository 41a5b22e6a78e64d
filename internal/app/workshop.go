package app

import (
	"context"
	"io"
	"path/filepath"
	"slices"

	"fika/internal/chat"
	"fika/internal/plugin"
	"fika/internal/tool"
	"fika/internal/tool/file"
	"fika/internal/tool/note"
	"fika/internal/tool/shell"
	"fika/internal/tool/web"
)

type workshopOptions struct {
	dir     string // workspace unless the settings name one
	quiet   bool   // no reflection
	waits   bool   // for an agent process, whose turns can be suspended
	verbose bool
	// starting: a run or an agent's process begins.
	starting bool
	stdin    io.Reader // lent to plugins; other tools get no terminal
	stderr   io.Writer // what plugins say to the person; nil: nothing
	warn     func(string)
	bell     chat.Bell
	notes    *note.Book // nil: one of its own
}

// workshop gathers tools and hooks for an owned context.
func (own *Owned) workshop(ctx context.Context, o workshopOptions) (*workshop, error) {
	if err := own.App.children.Adopt(); err != nil {
		o.warn(err.Error() + "; what a tool leaves running may outlive its call")
	}
	w := &workshop{own: own, store: own.Store, chats: chat.New(own.Store, o.bell), quiet: o.quiet, waits: o.waits, notes: o.notes}
	if w.notes == nil {
		w.notes = &note.Book{}
	}
	w.workspace = own.Settings.WorkspaceOr(o.dir)
	if err := checkWorkspace(w.workspace, own.Folder.Name); err != nil {
		return nil, err
	}
	w.inbox = &inbox{own: own, warn: o.warn, taken: own.App.Now()}
	own.keys = own.App.Secrets()
	if own.keys != nil && o.stderr != nil {
		o.stderr = cleanWriter{o.stderr, own.keys}
	}
	tools := append(own.builtins(), w.furniture(o.warn)...)
	plugins, err := plugin.Open(ctx, own.pluginOptions(o, w.workspace, tools))
	if err != nil {
		return nil, err
	}
	w.hooks = cleanHooks{plugins, own.keys}
	for _, t := range plugins.Tools() {
		tools = append(tools, tool.WithLimit(t, own.outputLimits()))
	}
	w.tools, err = tool.NewSet(tools, tool.Permissions{Allow: own.Settings.ToolPermissions, Off: own.Settings.ToolsOff})
	if err != nil {
		return nil, err
	}
	w.tools.Without(own.keys)
	return w, nil
}

func (own *Owned) pluginOptions(o workshopOptions, workspace string, taken []tool.Tool) plugin.Options {
	h := own.Folder.Home
	p := plugin.Options{
		Dir: h.PluginsDir(), CacheFile: filepath.Join(h.RunDir(), "plugins.json"), Home: h.Root, Context: string(own.Folder.Name),
		Agent: own.Agent.Name, Workspace: workspace, Username: own.Settings.Username,
		Settings: map[string]plugin.Settings{}, Limits: own.outputLimits(), Children: own.App.children,
		Stdin: o.stdin, Stderr: o.stderr, Verbose: o.verbose, Starting: o.starting, ModelVars: own.modelVars(),
		Report: func(name string, err error) { o.warn(pluginTrouble(name, err)) },
	}
	for name, s := range own.Settings.Plugins {
		p.Settings[name] = plugin.Settings{Env: s.Env, Timeout: s.Timeout, JSON: s.Stdin == "json", Disabled: s.Disabled}
	}
	for _, t := range taken {
		p.Reserved = append(p.Reserved, t.Spec().Name)
	}
	return p
}

// modelVars names the variables that the models of this home are reached with.
func (own *Owned) modelVars() []string {
	names := []string{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY",
		"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE",
	}
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(own.Settings.Model.APIKeyEnv)
	c, err := own.App.Config()
	if err != nil {
		return names
	}
	for _, m := range c.Models {
		if full, err := c.FindModel(m.ID, own.App.Getenv); err == nil {
			add(full.APIKeyEnv)
		}
	}
	return names
}

// outputLimits bound what the model sees of a tool's output; the whole goes to
// a file in the context's folder.
func (own *Owned) outputLimits() tool.Limits {
	half := int(own.Settings.Tools.MaxOutputBytes / 2)
	return tool.Limits{
		Head: half, Tail: half, SpoolMax: own.Settings.Tools.MaxSpoolBytes,
		SpoolDir: own.Folder.OutputDir(), Keys: own.keys,
	}
}

// builtins are the tools fika brings along, in the order the model sees them.
func (own *Owned) builtins() []tool.Tool {
	t, limits := own.Settings.Tools, own.outputLimits()
	list := file.Tools(file.Options{Paths: own.paths()})
	list = append(list,
		shell.New(shell.Options{Limits: limits, Timeout: t.Timeout, Env: own.toolEnv(), Children: own.App.children}),
		web.New(web.Options{AllowPrivate: t.AllowPrivateFetch, MaxBytes: t.MaxFetchBytes}))
	for i, x := range list {
		list[i] = tool.WithLimit(x, limits)
	}
	return list
}

// toolEnv is what commands of this agent find in their environment beside the
// usual names.
func (own *Owned) toolEnv() []string {
	env := []string{
		"FIKA_HOME=" + own.Folder.Home.Root,
		"FIKA_AGENT=" + string(own.Agent.Name),
		"FIKA_CONTEXT=" + string(own.Folder.Name),
	}
	for k, v := range own.Settings.Env {
		env = append(env, k+"="+v)
	}
	return env
}
