package worker

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fika"
	"fika/internal/app"
	"fika/internal/chat/attachment"
	"fika/internal/extension/hook"
	"fika/internal/extension/plugin"
	"fika/internal/extension/skill"
	"fika/internal/repository/worktree"
	"fika/internal/rights/guard"
	"fika/internal/rights/login"
	"fika/internal/sandbox/confine"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/system/process"
	"fika/internal/text/redact"
	"fika/internal/tool"
	"fika/internal/tool/board"
	"fika/internal/tool/file"
	"fika/internal/tool/job"
	"fika/internal/tool/note"
	"fika/internal/tool/offer"
	"fika/internal/tool/shell"
	"fika/internal/tool/web"
)

// Toolbox makes the tools of a context that need nothing else, and says how its plugins
// are opened. It owns nothing: the context need not be locked.
type Toolbox struct {
	app      *app.App
	folder   folder.Folder
	settings config.Settings
	readOnly bool          // commands cannot write the workspace, whatever the tools are
	user     *process.User // the user that processes run as; nil: the user of fika
	calls    string        // folder for records of running calls
	keys     *redact.Keys  // removed from tool output; nil: nothing is
	skills   func() []skill.Skill
	task     fika.TaskNumber                // in whose worktree it works; 0: the agent's own, or none
	jobs     *job.Pool                      // of background commands; nil: there are none here
	files    func(file.Options) []tool.Tool // makes the file tools; nil: they work in this process
}

// NewToolbox returns the toolbox of a context with settings.
func NewToolbox(a *app.App, f folder.Folder, s config.Settings) Toolbox {
	skills := sync.OnceValue(func() []skill.Skill { return SkillsOf(a, s) })
	return Toolbox{app: a, folder: f, settings: s, calls: callsOf(f.Path()), skills: skills}
}

// PluginUse says what plugins are opened for.
type PluginUse struct {
	Workspace string
	Reserved  []string // names of tools that no plugin may take
	Starting  bool     // a run or an agent's process begins
	Verbose   bool
	Stdin     io.Reader // lent to plugins; other tools get no terminal
	Stderr    io.Writer // for messages of plugins to the person; nil: discarded
	Warn      func(string)
}

// PluginOptions returns the options with which the plugins of the context are opened.
func (b Toolbox) PluginOptions(u PluginUse) plugin.Options {
	h := b.folder.Home
	o := plugin.Options{
		Dir: h.PluginsDir(), Shared: b.app.Shared("plugins"), CacheFile: filepath.Join(h.RunDir(), "plugins.json"), Home: h.Root, Data: pluginData(h.Root), Context: string(b.folder.Name),
		Agent: b.folder.Name, Workspace: u.Workspace, Username: b.settings.Username,
		Settings: map[string]plugin.Settings{}, Limits: b.outputLimits(), Children: b.app.Children(), Reserved: u.Reserved,
		Stdin: u.Stdin, Stderr: u.Stderr, Verbose: u.Verbose, Starting: u.Starting, ModelVars: b.modelVariables(),
		Confine: b.Confinement().Plugin,
		Report:  func(name string, err error) { u.Warn(PluginTrouble(name, err)) },
	}
	for name, s := range b.settings.Plugins {
		o.Settings[name] = plugin.Settings{Env: s.Env, Timeout: s.Timeout, JSON: s.Stdin == "json", Home: s.Access == "home", Disabled: s.Disabled}
	}
	return o
}

// PluginTrouble describes an error of a plugin, and names the plugin once.
func PluginTrouble(name string, err error) string {
	if text := err.Error(); strings.HasPrefix(text, "plugin "+name) {
		return text
	}
	return "plugin " + name + ": " + err.Error()
}

// OpenHooks opens the plugins of the context for their hooks alone.
func (b Toolbox) OpenHooks(ctx context.Context, p app.Person) (hook.Runner, error) {
	return plugin.Open(ctx, b.PluginOptions(PluginUse{
		Workspace: b.settings.WorkspaceOr(b.app.Dir()), Reserved: b.BuiltinNames(),
		Stdin: p.Stdin, Stderr: p.Stderr, Warn: p.Warn, Verbose: p.Verbose,
	}))
}

// builtins returns the tools shipped with fika, in the order the model sees them.
func (b Toolbox) builtins() []tool.Tool {
	t, limits := b.settings.Tools, b.outputLimits()
	files := file.Tools
	if b.files != nil {
		files = b.files
	}
	list := files(file.Options{
		Paths: b.outOfReach(), Keep: b.keepForUndo, Pictures: attachment.StoreIn(b.folder.Home.Root),
		Obeyed: func(workspace string) []string { return BothNames(b.app.SandboxProbe().Obeyed(workspace)...) },
	})
	list = append(list,
		shell.New(shell.Options{Limits: limits, Timeout: t.Timeout, Env: b.environment(), Children: b.app.Children(), Jobs: b.shellJobs()}),
		web.New(web.Options{AllowPrivate: t.AllowPrivateFetch, Closed: login.In(b.folder.Home.RunDir(), b.app.Now).IsAt, MaxBytes: t.MaxFetchBytes}),
	)
	for i, x := range list {
		list[i] = tool.WithLimit(x, limits)
	}
	return list
}

// BuiltinNames returns the names of the tools shipped with fika.
func (b Toolbox) BuiltinNames() []string { return toolNames(b.builtins()) }

// AllNames returns the names of the tools shipped with fika, of those that every agent
// has, and of the one that searches its past.
func (b Toolbox) AllNames() []string {
	list := note.Tools(note.Options{Reflection: b.settings.ReflectionEnabled})
	return append(b.BuiltinNames(), toolNames(slices.Concat(list, peers{}.tools(), job.Tools(nil), board.Tools(nil), []tool.Tool{offer.New(nil), recallTool(nil), skillTool(nil)}))...)
}

func toolNames(tools []tool.Tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Spec().Name)
	}
	return names
}

// modelVariables returns the names of the environment variables through which the
// models of this home are reached.
func (b Toolbox) modelVariables() []string {
	names := append(config.UsualKeys(), "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE")
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	addAll := func(m config.Model) {
		for _, name := range m.KeyEnvs() {
			add(name)
		}
	}
	addAll(b.settings.Model)
	c, err := b.app.Config()
	if err != nil {
		return names
	}
	for _, m := range c.Models {
		if full, err := c.FindModel(m.ID, b.app.Getenv); err == nil {
			addAll(full)
		}
	}
	return names
}

// outputLimits returns the limits on what the model sees of a tool's output. The full
// output goes to a file in the context's folder.
func (b Toolbox) outputLimits() tool.Limits {
	half := int(b.settings.Tools.MaxOutputBytes / 2)
	return tool.Limits{
		Head: half, Tail: half, SpoolMax: b.settings.Tools.MaxSpoolBytes,
		SpoolDir: b.folder.OutputDir(), Keys: b.keys,
	}
}

// environment returns what commands of this agent find in their environment in addition
// to the usual variables.
func (b Toolbox) environment() []string {
	env := []string{
		"FIKA_HOME=" + b.folder.Home.Root,
		"FIKA_AGENT=" + string(b.folder.Name),
		"FIKA_CONTEXT=" + string(b.folder.Name),
	}
	if tree, ok := b.worktree(); ok {
		env = append(env, tree.IdentityEnv()...)
	}
	for k, v := range b.settings.Env {
		env = append(env, k+"="+v)
	}
	return env
}

// worktree returns the worktree that the agent works in: that of its task, else its own;
// false if it has none.
func (b Toolbox) worktree() (worktree.Tree, bool) {
	if !b.settings.Worktree {
		return worktree.Tree{}, false
	}
	tree, err := b.app.Worktree(b.folder.Name)
	return tree.ForTask(b.task), err == nil
}

// ConfinedTree returns a worktree in which git runs as commands of the agent do, except
// that it writes there in any case and has no network.
func (b Toolbox) ConfinedTree(t worktree.Tree) worktree.Tree {
	o := b.confinement()
	o.ReadOnly, o.Network, o.Limits = false, false, confine.Limits{}
	o.Clone, o.Borrowed = t.Root, confine.Objects(t.Project)
	o.Paths.Own = append(o.Paths.Own, BothNames(t.Root)...)
	t.Confine = confine.New(o).Tools(t.Root)
	return t
}

// outOfReach returns what this agent's file tools may not touch: all known homes of
// fika except its own output, workspace and worktree, and the secrets of the person,
// each under its known path and its real path.
func (b Toolbox) outOfReach() guard.Paths {
	p := KnownPlaces(b.folder.Home.Root, b.app.Getenv)
	own := []string{b.folder.OutputDir(), b.folder.Workspace()}
	if tree, ok := b.worktree(); ok {
		own = append(own, tree.Root)
	}
	p.Own, p.Readable = BothNames(own...), BothNames(b.skillDirs()...)
	return p
}
