package confine

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/sandbox"
	"fika/internal/system/address"
	"fika/internal/system/process"
	"fika/internal/tool"
)

// Options says what the processes of one agent may touch. Paths are absolute.
type Options struct {
	Probe *Probe // shared by all agents of this process
	Mode  sandbox.Mode
	Paths guard.Paths

	// HomeReadable shows the home folders of people but for the secrets known by name.
	// Otherwise they are hidden but for what is named.
	HomeReadable bool

	Network  bool
	Hosts    []address.Host // that commands reach without Network, in tier full; plugins and servers do not
	ReadOnly bool           // the workspace cannot be written
	Write    []string       // can be written, besides the workspace
	Hide     []string       // appear empty
	Lend     []string       // hidden, but readable; "ssh-agent" is its socket, and see [guard.CredentialFiles]
	Sockets  []string       // Unix sockets that can be reached

	// Clone is the root of a repository that is the agent's own: its refs are not watched,
	// and its settings may be changed as long as they make git run nothing. Borrowed are
	// the folders of objects that it borrows, which can be read.
	Clone    string
	Borrowed []string

	Temp       string // folder that stands for /tmp
	Caches     string // folder of build caches, with one folder per project
	PluginData string // folder with one folder of files for each plugin
	Prompts    string // folder of texts that plugins can read
	Aside      string // folder for what had to be moved out of the way
	Calls      string // folder of the records of running calls, see [sandbox.UndoKilled]

	User   *process.User // user of the processes; nil: that of this process
	Limits Limits        // of memory, processors and processes

	Getenv func(string) string
}

// Probe finds out once how processes can be confined on this machine. It is safe for
// concurrent use.
type Probe struct {
	once     sync.Once
	found    *sandbox.Sandbox
	groups   groupProbe
	memory   memory
	rootOnly rootOnly
	joined   atomic.Uint32 // calls that worked in the namespaces of jobs
}

// Open returns the sandbox for a mode. Error kind: Denied when the mode demands more than
// this machine offers.
func (p *Probe) Open(mode sandbox.Mode) (*sandbox.Sandbox, error) {
	if mode == sandbox.Off {
		return sandbox.Open(context.Background(), mode)
	}
	p.once.Do(func() { p.found, _ = sandbox.Open(context.Background(), sandbox.Best) })
	if mode == sandbox.Required && p.found.Tier() != sandbox.Full {
		return nil, fika.Errorf(fika.Denied, "sandbox", "nothing is run, because [guard] sandbox = \"required\" and the full sandbox does not work here: %s", p.found.WhyWeaker())
	}
	return p.found, nil
}

// Agent confines the processes of one agent.
type Agent struct {
	opts Options
}

// New returns the confinement of an agent.
func New(o Options) *Agent { return &Agent{opts: o} }

// Tools confines the commands of a call that works in the folder workspace. The call may
// change the protected files in opened; in the config of a repository, settings that make
// git run something are put back.
func (a *Agent) Tools(workspace string, opened ...string) tool.Confinement {
	return &call{agent: a, workspace: workspace, opened: opened}
}

// Plugin confines a plugin: it can read its own files, and write a folder of its own
// besides what commands can write. A plugin that may use fika itself (home) is not
// confined, because it starts fika, which confines the tools that it runs.
func (a *Agent) Plugin(name, path, workspace string, home bool) tool.Confinement {
	if home {
		return nil
	}
	return &call{agent: a, workspace: workspace, plugin: name, program: path}
}

// Place is where another agent program is, and what it has to itself.
type Place struct {
	Program string // its file, which it can read
	Home    string // which it can write
	Shown   string // another file that it can read; empty: there is none
	Socket  string // a Unix socket that it can reach; empty: there is none
}

// Unconfined says in words what commands of this agent may do in spite of the sandbox.
func (a *Agent) Unconfined() []string {
	var out []string
	if len(a.opts.Sockets) > 0 {
		out = append(out, "whoever listens at "+strings.Join(a.opts.Sockets, ", ")+" can be asked for anything ([sandbox] sockets)")
	}
	if len(a.opts.Lend) > 0 {
		out = append(out, strings.Join(a.opts.Lend, ", ")+" can be read (lend)")
	}
	return out
}

// call is one call of a tool or a hook.
type call struct {
	agent     *Agent
	workspace string
	opened    []string // protected files that the call may change
	plugin    string   // name of the plugin; empty for a command
	program   string   // the file of a plugin or a guest
	shown     string   // what a guest can read besides; empty: nothing

	long   bool              // it runs on: nothing is put back after it
	share  *sandbox.Handover // of its namespaces; nil: nobody joins them
	join   *sandbox.Spaces   // where it works; nil: in namespaces of its own
	portAt uint16            // of its proxy, above [sandbox.ProxyPort]
}

// Tier implements [tool.Confinement].
func (c *call) Tier() string {
	s, err := c.agent.opts.Probe.Open(c.agent.opts.Mode)
	if err != nil {
		return string(sandbox.None)
	}
	return string(s.Tier())
}

// Network implements [tool.Confinement].
func (c *call) Network() bool {
	return c.agent.opts.Network || c.agent.opts.Mode == sandbox.Off || c.Tier() == string(sandbox.None)
}

// Temp implements [tool.Confinement].
func (c *call) Temp() (dir, seen string) {
	if dir = c.agent.opts.Temp; dir == "" || makeFolder(dir) != nil {
		return "", ""
	}
	switch c.Tier() {
	case string(sandbox.Full):
		return dir, "/tmp"
	case string(sandbox.Landlock):
		return dir, dir
	}
	return "", ""
}

// Confine implements [tool.Confinement].
func (c *call) Confine(path string, args []string) (tool.Confined, error) {
	group, dir, err := c.agent.opts.Limits.begin(c.agent.opts.Probe)
	if err != nil {
		return tool.Confined{}, err
	}
	out, err := c.confine(path, args)
	if group == nil {
		return out, err
	}
	if err != nil {
		dir.Close()
		group.End()
		return out, err
	}
	restore := out.Done
	out.Group = dir
	out.Done = func() []string {
		lines := group.End() // before files are checked, so that nothing writes any more
		if restore != nil {
			lines = append(lines, restore()...)
		}
		return lines
	}
	return out, nil
}

// confine is Confine without limits.
func (c *call) confine(path string, args []string) (tool.Confined, error) {
	o := &c.agent.opts
	s, err := o.Probe.Open(o.Mode)
	if err != nil {
		return tool.Confined{}, err
	}
	if o.Mode == sandbox.Off {
		return tool.Confined{Path: path, Args: args, Env: o.identity(), User: o.User.Credential()}, nil
	}
	p, env, repos, err := c.profile()
	if err != nil {
		return tool.Confined{}, err
	}
	if c.plugin != "" && path == c.program {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real // a link beside it is not visible to the plugin
		}
	}
	if s.Tier() == sandbox.Landlock {
		if err := c.reachesHidden(p); err != nil {
			return tool.Confined{}, err
		}
	}
	keeper, err := s.KeepProtected(p, o.Aside, o.Calls)
	if err != nil {
		return tool.Confined{}, err
	}
	w, err := c.watch(repos)
	if err != nil {
		keeper.Close()
		return tool.Confined{}, fika.Wrap(fika.Denied, "sandbox", err)
	}
	proxy, err := c.openProxy()
	if err == nil {
		p.Proxy, p.Share, p.Join = proxy.handover, c.share, c.join
		var cmd sandbox.Command
		if cmd, err = s.Command(p, path, args...); err == nil {
			return tool.Confined{
				Path: cmd.Path, Args: cmd.Args, Env: slices.Concat(o.identity(), env, cmd.Env), User: p.User, Files: cmd.Files,
				Withheld: withheld(p, s.Tier()), Traffic: proxy.traffic,
				Done: c.after(proxy, keeper, p.Opened, w),
			}, nil
		}
		proxy.close()
	}
	keeper.Close()
	w.close()
	return tool.Confined{}, err
}

// after returns what is done once the process of the call has ended.
func (c *call) after(p proxy, keeper *sandbox.Keeper, opened []string, w *watch) func() []string {
	if c.long {
		keeper.Close()
		w.close()
		return func() []string { p.close(); return nil }
	}
	return func() []string {
		p.close()
		return restore(keeper, opened, w)
	}
}

// identity returns the variables that tell a process of another user who it is.
func (o *Options) identity() []string {
	if o.User == nil {
		return nil
	}
	return []string{"USER=" + o.User.Name, "LOGNAME=" + o.User.Name, "HOME=" + o.User.Home}
}

// withheld returns what a profile denies a process.
func withheld(p sandbox.Profile, tier sandbox.Tier) tool.Withheld {
	if tier == sandbox.None {
		return tool.Withheld{}
	}
	return tool.Withheld{Network: !p.Network, Loopback: !p.Network && tier == sandbox.Landlock, ByHost: !p.Network && tier == sandbox.Full, Proxied: p.Proxy != nil, Protected: p.Protected}
}

// reachesHidden refuses a folder that contains something hidden, because tier landlock
// cannot exclude part of a folder.
func (c *call) reachesHidden(p sandbox.Profile) error {
	resolve := sandbox.NewResolver()
	for _, hidden := range slices.Concat(p.Hidden, p.Secrets) {
		h, err := resolve.Real(hidden)
		if err != nil {
			continue
		}
		for _, root := range slices.Concat([]string{p.Workspace}, p.Writable, p.Readable, p.Shown) {
			if real, err := resolve.Real(root); err == nil && h != real && sandbox.Within(real, h) {
				return fika.Errorf(fika.Denied, "sandbox", "%s holds %s, which the built-in sandbox cannot hide inside it: choose a narrower workspace, or install bubblewrap", root, hidden)
			}
		}
	}
	return nil
}
