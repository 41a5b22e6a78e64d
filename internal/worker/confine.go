package worker

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"fika"
	"fika/internal/app"
	"fika/internal/sandbox"
	"fika/internal/sandbox/confine"
	"fika/internal/settings/config"
	"fika/internal/system/address"
	"fika/internal/system/cgroup"
	"fika/internal/tool"
	"fika/internal/tool/job"
	"fika/internal/turn"
)

// Confinement returns the limits on what the processes of this context's tools may
// touch.
func (b Toolbox) Confinement() *confine.Agent { return confine.New(b.confinement()) }

func (b Toolbox) confinement() confine.Options {
	s, f := b.settings, b.folder
	temp, caches := filepath.Join(f.Path(), "tmp"), filepath.Join(f.Home.Root, "cache")
	if b.user != nil { // they cannot enter the home
		temp, caches = tempOf(b.user, f.Home.Root, f.Name), ""
	}
	o := confine.Options{
		Probe: b.app.SandboxProbe(), Mode: sandbox.Mode(s.Guard.SandboxMode), Paths: b.outOfReach(),
		HomeReadable: s.Sandbox.Home == config.HomeReadable, Network: s.Guard.Network == "on", ReadOnly: b.readOnly || onlyReads(s.ToolPermissions),
		Write: s.Sandbox.Write, Hide: s.Sandbox.Hide, Lend: s.Sandbox.Lend, Sockets: s.Sandbox.Sockets, Hosts: hostsOf(s.Sandbox.Hosts),
		Temp: temp, User: b.user, Aside: filepath.Join(f.Path(), "set-aside"), Calls: b.calls,
		Caches: caches, PluginData: pluginData(f.Home.Root), Prompts: f.Home.PromptsDir(),
		Limits: LimitsOf(s, f.Home.Root), Getenv: b.app.Getenv,
	}
	if tree, ok := b.worktree(); ok && !tree.IsLinked() {
		o.Clone, o.Borrowed = tree.Root, confine.Objects(tree.Project)
	}
	return o
}

// hostsOf returns the hosts that are named in settings. What is not one matches nothing:
// it came from rights of another version.
func hostsOf(named []string) []address.Host {
	var out []address.Host
	for _, text := range named {
		if h, err := address.ParseHost(text); err == nil {
			out = append(out, h)
		}
	}
	return out
}

// LimitsOf returns the limits on the resources that the tools of an agent may use.
func LimitsOf(s config.Settings, home string) confine.Limits {
	l := s.Limits
	return confine.Limits{
		Limits: cgroup.Limits{Memory: int64(l.Memory), CPU: l.CPU, PIDs: l.PIDs}, Required: l.Required, Agent: s.Agent, Home: home,
	}
}

// NoLimits says why the limits of an agent's tools cannot be enforced on this machine;
// "" if they can, or there are none.
func NoLimits(a *app.App, home string, name fika.AgentName) string {
	l, err := a.Limits(name)
	if err != nil || !l.AnySet() {
		return "" // doctor reports unreadable settings
	}
	why := a.SandboxProbe().NoLimits(LimitsOf(config.Settings{Agent: name, Limits: l}, home))
	switch {
	case why == "":
		return ""
	case l.Required:
		return "its tools are refused, because its limits cannot be kept: " + why
	}
	return "no limits, because they cannot be kept: " + why
}

// SweepLimits removes the control groups left by killed processes of this home, and
// ends what still runs in them.
func SweepLimits(a *app.App, home string) {
	c, err := a.Config()
	if err != nil {
		return
	}
	limited := c.Resources.AnySet()
	for i := range c.Agents {
		limited = limited || c.Agents[i].Resources.AnySet()
	}
	if !limited {
		return // unused features are not touched
	}
	if g, err := a.SandboxProbe().Groups(home); err == nil {
		g.Sweep()
	}
}

// callsOf returns the folder, in the folder of a context or an executor, that holds
// records of the calls its process is running. Only the next such process restores what
// these calls changed.
func callsOf(folder string) string { return filepath.Join(folder, "calls") }

// UndoLeft restores the protected files that calls of a killed process changed, and
// reports each to warn. What such a process left running must be ended before.
func (w *Worker) UndoLeft(warn func(string)) {
	undoLeft(callsOf(w.Folder.Path()), warn)
}

func undoLeft(calls string, warn func(string)) {
	changes, err := sandbox.UndoKilled(calls)
	lines, failed := confine.UndoKilled(calls)
	changes, err = append(changes, lines...), errors.Join(err, failed)
	for _, line := range changes {
		warn(line + " (the process that had called it was killed)")
	}
	if err != nil {
		warn("not everything could be undone that a call changed whose process was killed: " + err.Error())
	}
}

// pluginData returns the folder in which each plugin has a folder for its own data.
func pluginData(home string) string { return filepath.Join(home, "plugin-data") }

// onlyReads reports whether an agent may run commands but is meant to change nothing
// with them: it has neither of the two tools that change files.
func onlyReads(permissions []string) bool {
	return slices.Contains(permissions, "bash") && !slices.Contains(permissions, "edit") && !slices.Contains(permissions, "create")
}

// callConfinement confines the processes of one call as the files say when its first
// process is about to start, within the rights of the call. The confinement recorded
// for the call is the one that applied, whatever the files say later.
type callConfinement struct {
	workspace string
	opened    turn.Opened           // what the call may do beyond its rights
	now       func() *confine.Agent // what the files say, read at the first call

	jobs         *job.Pool // whose namespaces the call may join; nil: none
	conversation fika.ConversationID
}

// confineCall returns the confinement of a call in a conversation. If rights is nil, the
// agent's own apply.
func (r *Runtime) confineCall(in fika.ConversationID, workspace string, rights *fika.Rights, opened turn.Opened) *callConfinement {
	return &callConfinement{workspace: workspace, opened: opened, jobs: r.toolbox.jobs, conversation: in, now: sync.OnceValue(func() *confine.Agent {
		now, err := r.current(context.Background())
		if err != nil {
			now = r
		}
		return now.toolbox.within(rights).reaching(opened).Confinement()
	})}
}

func (c *callConfinement) tools() tool.Confinement {
	return c.now().ToolsIn(c.spaces(), c.workspace, c.opened.Files...)
}

// Confine implements [tool.Confinement].
func (c *callConfinement) Confine(path string, args []string) (tool.Confined, error) {
	return c.tools().Confine(path, args)
}

// Temp implements [tool.Confinement].
func (c *callConfinement) Temp() (dir, seen string) { return c.tools().Temp() }

// Tier implements [tool.Confinement].
func (c *callConfinement) Tier() string { return c.tools().Tier() }

// Network implements [tool.Confinement].
func (c *callConfinement) Network() bool { return c.tools().Network() }

// Plugin confines a plugin that is called, within the same rights.
func (c *callConfinement) Plugin(name, path string, home bool) tool.Confinement {
	return c.now().Plugin(name, path, c.workspace, home)
}

// current returns the runtime for the current contents of the files.
func (r *Runtime) current(ctx context.Context) (*Runtime, error) {
	if r.live == nil {
		return r, nil
	}
	return r.live.current(ctx, r.opts.place())
}
