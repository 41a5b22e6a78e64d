package worker

import (
	"context"
	"path/filepath"
	"slices"
	"sync"

	"fika"
	"fika/internal/app"
	"fika/internal/cgroup"
	"fika/internal/config"
	"fika/internal/confine"
	"fika/internal/sandbox"
	"fika/internal/tool"
)

// Confinement limits what the processes of this context's tools touch.
func (b Toolbox) Confinement() *confine.Agent {
	s, f := b.settings, b.folder
	temp, caches := filepath.Join(f.Path(), "tmp"), filepath.Join(f.Home.Root, "cache")
	if b.user != nil { // what is in the home is closed to them
		temp, caches = tempOf(b.user, f.Home.Root, f.Name), ""
	}
	return confine.New(confine.Options{
		Probe: b.app.SandboxProbe(), Mode: sandbox.Mode(s.Guard.SandboxMode), Paths: b.outOfReach(),
		Network: s.Guard.Network == "on", ReadOnly: b.readOnly || onlyReads(s.ToolPermissions),
		Write: s.Sandbox.Write, Hide: s.Sandbox.Hide, Lend: s.Sandbox.Lend, Sockets: s.Sandbox.Sockets,
		Temp: temp, User: b.user, Aside: filepath.Join(f.Path(), "set-aside"), Calls: b.calls,
		Caches: caches, PluginData: pluginData(f.Home.Root), Prompts: f.Home.PromptsDir(),
		Limits: LimitsOf(s, f.Home.Root), Getenv: b.app.Getenv,
	})
}

// LimitsOf are what settings let the tools of an agent use of the machine.
func LimitsOf(s config.Settings, home string) confine.Limits {
	l := s.Limits
	return confine.Limits{
		Limits: cgroup.Limits{Memory: int64(l.Memory), CPU: l.CPU, PIDs: l.PIDs}, Required: l.Required, Agent: s.Agent, Home: home,
	}
}

// NoLimits says why the limits of an agent's tools cannot be kept on this machine;
// empty: they can, or there are none.
func NoLimits(a *app.App, home string, name fika.AgentName) string {
	l, err := a.Limits(name)
	if err != nil || !l.AnySet() {
		return "" // what cannot be read is doctor's to say
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

// SweepLimits removes the control groups that killed processes of this home have
// left, with what still runs in them.
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
		return // what is not asked for is not touched either
	}
	if g, err := a.SandboxProbe().Groups(home); err == nil {
		g.Sweep()
	}
}

// callsOf is the folder of a context, or of an executor, where records of the calls
// lie that its process is running: whoever is that process next puts back what they
// changed, and nobody else.
func callsOf(folder string) string { return filepath.Join(folder, "calls") }

// UndoLeft takes back what calls changed of protected files whose process was
// killed before it could do so, and tells warn. What such a process left running
// has to be ended before.
func (w *Worker) UndoLeft(warn func(string)) {
	undoLeft(callsOf(w.Folder.Path()), warn)
}

func undoLeft(calls string, warn func(string)) {
	changes, err := sandbox.UndoKilled(calls)
	for _, line := range changes {
		warn(line + " (the process that had called it was killed)")
	}
	if err != nil {
		warn("not everything could be undone that a call changed whose process was killed: " + err.Error())
	}
}

// pluginData is where plugins keep what is theirs, in a folder each.
func pluginData(home string) string { return filepath.Join(home, "plugin-data") }

// onlyReads reports whether an agent that may run commands is meant to change
// nothing with them: it has neither of the tools that do.
func onlyReads(permissions []string) bool {
	return slices.Contains(permissions, "bash") && !slices.Contains(permissions, "edit") && !slices.Contains(permissions, "create")
}

// callConfinement confines the processes of one call as the files say when the
// first of them is about to start, within the rights of the call. What is recorded
// of the call afterwards is what held for it, whatever the files say by then.
type callConfinement struct {
	workspace string
	opened    []string              // protected files that the call may change
	now       func() *confine.Agent // what the files said when it was first asked
}

// confineCall makes the confinement of a call; rights may be nil: those of the agent.
func (r *Runtime) confineCall(workspace string, rights *fika.Rights, opened []string) *callConfinement {
	return &callConfinement{workspace: workspace, opened: opened, now: sync.OnceValue(func() *confine.Agent {
		now, err := r.current(context.Background())
		if err != nil {
			now = r
		}
		return now.toolbox.within(rights).Confinement()
	})}
}

func (c *callConfinement) tools() tool.Confinement { return c.now().Tools(c.workspace, c.opened...) }

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

// current is what the files say now of what this runtime began with.
func (r *Runtime) current(ctx context.Context) (*Runtime, error) {
	if r.live == nil {
		return r, nil
	}
	return r.live.current(ctx)
}
