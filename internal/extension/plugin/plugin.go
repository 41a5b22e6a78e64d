package plugin

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/system/process"
	"fika/internal/tool"
)

// Settings is what a person configures for one plugin ([plugins.NAME]).
type Settings struct {
	Env      []string      // names of additional environment variables
	Timeout  time.Duration // of a call or hook; 0: as its schema says
	JSON     bool          // its stdin is always the arguments, never the terminal
	Home     bool          // it may use fika itself (access = "home")
	Disabled bool
}

// Options says where plugins are and in whose name they run.
type Options struct {
	Dir       string // the plugins folder; it may be missing
	Shared    string // another plugins folder; those in Dir take precedence by name; "": none
	CacheFile string // remembers schemas; "": nothing is remembered
	Home      string // the home folder, as FIKA_HOME
	Data      string // folder with one folder of files for each plugin; "": none
	Bin       string // the fika program, as FIKA_BIN; "": this one
	Context   string // context for hooks whose payload names none
	Agent     fika.AgentName
	Workspace string // working folder of hooks, and of calls that have none
	Username  string

	Children *process.Children   // of this process, through which plugins are started; may be nil
	Confine  Confine             // limits what plugins touch; nil: nothing does
	Environ  []string            // what the allow-list picks from; nil: this process's
	Settings map[string]Settings // by plugin name, without the extension of the file
	// ModelVars names the variables with which models are reached: the meaning of
	// "MODEL_KEYS" among the variables that a plugin asks for.
	ModelVars []string
	Reserved  []string // names of tools that plugins may not take

	Timeout       time.Duration // of a call; 0: one minute
	HookTimeout   time.Duration // of a hook; 0: 30 seconds
	SchemaTimeout time.Duration // of --schema; 0: 10 seconds
	Limits        tool.Limits   // of what a call prints

	// Stdin is the person's terminal, lent to one plugin at a time. If it is nil, nobody
	// is there and plugins read their input from stdin.
	Stdin io.Reader
	// Stderr shows what plugins print on stderr; nil: it is not shown.
	Stderr io.Writer
	// Report is called for a plugin in trouble, possibly from many goroutines; nil:
	// nobody is told.
	Report func(plugin string, err error)
	// Verbose is passed on as FIKA_VERBOSE.
	Verbose bool
	// Starting says that a run or an agent's process is starting: plugins that listen to
	// on_start are asked for their schema again.
	Starting bool
}

// Confine returns the confinement of one plugin's processes, by its name and the path of
// its executable, for a working folder. With home the plugin may use fika itself.
type Confine func(name, path, workspace string, home bool) tool.Confinement

// maxDepth bounds how deep fika may run inside its own plugins.
const maxDepth = 8

// depthVar holds that depth; every plugin gets it increased by one.
const depthVar = "FIKA_DEPTH"

// Plugins are the plugins of a folder as they were when it was opened. It is safe for
// concurrent use.
type Plugins struct {
	opts   Options
	env    []string // what every plugin gets
	files  []*file  // usable plugins, in the order in which they were found
	person *person
	stderr sync.Mutex
}

// Open finds the plugins of a folder and reads their schemas, from the cache if possible.
// Plugins in trouble are reported and left out. Error kinds: Storage when the folder
// cannot be read, Limit when fika runs too deep inside its own plugins, Interrupted when
// ctx ended.
func Open(ctx context.Context, o Options) (*Plugins, error) {
	p, err := withDefaults(o)
	if err != nil {
		return nil, err
	}
	found, err := p.discoverFiles()
	if err != nil {
		return nil, err
	}
	c := openCache(p.opts.CacheFile)
	p.describeFiles(ctx, c, found)
	if err := ctx.Err(); err != nil {
		return nil, fika.Wrap(fika.Interrupted, "open plugins", err)
	}
	found = append(found, p.missingGuards(c, found)...)
	for _, dir := range p.pluginDirs() {
		if err := c.saveWithout(dir, found); err != nil {
			p.reportError("cache", err)
		}
	}
	p.chooseUsable(found)
	return p, nil
}

// withDefaults fills in the defaults.
func withDefaults(o Options) (*Plugins, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Bin == "" {
		o.Bin, _ = os.Executable()
	}
	for _, dir := range []*string{&o.Dir, &o.Shared} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir) // plugins run in other folders
		if err != nil {
			return nil, fika.Wrap(fika.Storage, "open plugins", err)
		}
		*dir = abs
	}
	o.Timeout = orElse(o.Timeout, time.Minute)
	o.HookTimeout = orElse(o.HookTimeout, 30*time.Second)
	o.SchemaTimeout = orElse(o.SchemaTimeout, 10*time.Second)
	p := &Plugins{opts: o}
	if o.Stdin != nil {
		p.person = newPerson(o.Stdin)
	}
	depth, _ := strconv.Atoi(lookupVariable(o.Environ, depthVar))
	if depth >= maxDepth {
		return nil, fika.Errorf(fika.Limit, "open plugins", "fika has been started by its own plugins %d times over: stopping here", depth)
	}
	p.env = p.baseEnv(depth + 1)
	return p, nil
}

func orElse(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}

// chooseUsable keeps the plugins that described themselves, and of two tools with the
// same name the first.
func (p *Plugins) chooseUsable(found []*file) {
	taken := make(map[string]string, len(found)+len(p.opts.Reserved))
	for _, name := range p.opts.Reserved {
		taken[strings.ToLower(name)] = "fika itself"
	}
	for _, f := range found {
		if f.schema == nil {
			continue
		}
		kept := f.schema.Tools[:0:0]
		for _, t := range f.schema.Tools {
			if by, dup := taken[strings.ToLower(t.Name)]; dup {
				p.reportError(f.Name, fika.Errorf(fika.Conflict, "plugin "+f.Name, "the tool name %q belongs to %s already: the one in %s is left out; rename it", t.Name, by, f.Path))
				continue
			}
			taken[strings.ToLower(t.Name)] = "the plugin " + f.Name
			kept = append(kept, t)
		}
		f.tools = kept
		p.files = append(p.files, f)
	}
}

// Tools returns the tools of all plugins, plugin by plugin in the order of
// [Plugins.List].
func (p *Plugins) Tools() []tool.Tool {
	var list []tool.Tool
	for _, f := range p.files {
		for _, t := range f.tools {
			list = append(list, p.makeTool(f, t))
		}
	}
	return list
}

// Info describes one plugin, for lists.
type Info struct {
	Name  string
	Path  string
	Tools []string
	Hooks []hook.Point
	Block bool     // its hooks refuse when they fail
	Env   []string // names of variables it asks for
	Home  bool     // it asks to use fika itself
}

// List describes the plugins in use, by file name: first those of Dir, then those of
// Shared, then guards whose files are gone.
func (p *Plugins) List() []Info {
	list := make([]Info, 0, len(p.files))
	for _, f := range p.files {
		list = append(list, f.infoOf())
	}
	return list
}

func (p *Plugins) reportError(plugin string, err error) {
	if p.opts.Report != nil {
		p.opts.Report(plugin, err)
	}
}

func (p *Plugins) settingsOf(f *file) Settings {
	if s, ok := p.opts.Settings[f.Name]; ok {
		return s
	}
	return p.opts.Settings[f.file]
}

var _ hook.Runner = (*Plugins)(nil)
