package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	busnats "fika/internal/bus/nats"
	"fika/internal/extension/plugin"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/process"
	"fika/internal/text/hint"
	"fika/internal/text/words"
	"fika/internal/worker"
)

// Level says how much a [Finding] matters.
type Level string

// The levels.
const (
	Fine    Level = "ok"
	Note    Level = "note"    // worth knowing
	Problem Level = "problem" // something is wrong
	Fixed   Level = "fixed"   // it was wrong and is repaired
)

// Finding is one result of an examination.
type Finding struct {
	Check string
	Level Level
	Text  string
	Fix   string // what a person can do
}

// examination looks at everything of a home, one check after the other.
type examination struct {
	app   *app.App
	who   api.Principal
	home  folder.Home
	store *store.Store // nil: it cannot be opened, or was not yet
	fix   bool
	out   []Finding
	// storeFine says that the configuration and the database can be read.
	storeFine bool
	// fresh says that the home does not exist yet, so that nothing was stored in it.
	fresh bool
}

func (d *examination) add(check string, l Level, fix, format string, args ...any) {
	d.out = append(d.out, Finding{Check: check, Level: l, Fix: fix, Text: config.WithoutSecrets(fmt.Sprintf(format, args...))})
}

// Examine looks for what is wrong with this home, for a principal. With fix it repairs what can be
// repaired without losing anything. The error says that not even that could be
// done.
func Examine(ctx context.Context, a *app.App, who api.Principal, fix bool) ([]Finding, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	d := &examination{app: a, who: who, home: h, fix: fix}
	d.checkHome()
	d.checkModes()
	d.checkDisk()
	d.checkProject()
	if d.checkConfig() {
		if !d.fresh {
			d.checkStore(ctx)
			d.checkContexts(ctx)
			d.checkSharedTexts(ctx)
		}
		d.checkPlugins(ctx)
		d.checkSandbox()
		d.checkLimits()
		d.checkExecutors(ctx)
		d.checkModels()
		d.checkGuests(ctx)
		d.checkRights()
		d.checkWorkspaces()
		d.checkPushing(ctx)
	}
	d.checkHub(ctx)
	d.checkProcesses()
	if !d.fresh {
		d.checkBus(ctx)
	}
	if d.storeFine {
		d.checkAgents(ctx)
		d.checkSchedules(ctx)
		d.checkReceivers(ctx)
		d.checkPushes(ctx)
		d.checkOffers(ctx)
		d.checkOnDemand(ctx)
		d.checkUnpushed(ctx)
	}
	return d.out, ctx.Err()
}

// checkHome says whether there is a home already: the first command that stores something
// makes it.
func (d *examination) checkHome() {
	if _, err := os.Stat(d.home.Root); errors.Is(err, fs.ErrNotExist) {
		d.fresh = true
		d.add("home", Fine, "", "%s does not exist yet; %s in a repository, or the first prompt, makes it", d.home.Root, hint.Init)
	}
}

// checkModes sees to it that only the owner can read what is private.
func (d *examination) checkModes() {
	if d.app.ReadOnly() {
		d.add("home", Problem, "make it writable, or set FIKA_HOME to another folder", "%s cannot be written: nothing can be asked or sent", d.home.Root)
	}
	const check = "permissions"
	root, err := os.Stat(d.home.Root)
	if err == nil && root.Mode().Perm()&0o077 == 0 {
		d.add(check, Fine, "", "%s is private", d.home.Root) // and so is all that is in it
		return
	}
	for _, path := range []string{d.home.Root, d.home.ContextsDir(), d.home.RunDir(), d.home.DatabaseFile()} {
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm()&0o077 == 0 {
			continue
		}
		want := st.Mode().Perm() &^ 0o077
		if d.fix {
			if err := os.Chmod(path, want); err == nil {
				d.add(check, Fixed, "", "%s was open to others", path)
				continue
			}
		}
		d.add(check, Problem, fmt.Sprintf("chmod %o %s", want, path), "%s can be read by others (%s)", path, st.Mode().Perm())
	}
}

func (d *examination) checkDisk() {
	const check = "disk"
	free, files, ok := folder.FreeSpace(d.home.Root)
	switch {
	case !ok:
	case files >= 0 && files < 1000:
		d.add(check, Problem, "remove files: prompts fail when no file can be made", "its disk can take only %d more files (inodes), whatever space is free", files)
	case free < 100<<20:
		d.add(check, Problem, "make room: prompts fail when the disk is full", "only %d MiB are free", free>>20)
	case free < 1<<30:
		d.add(check, Note, "", "%.1f GiB are free", float64(free)/(1<<30))
	default:
		d.add(check, Fine, "", "%.1f GiB are free", float64(free)/(1<<30))
	}
}

// checkConfig reports every problem of the files. Without a configuration,
// not even an earlier one, nothing else can be looked at.
func (d *examination) checkConfig() bool {
	const check = "config"
	_, err := d.app.LoadConfig()
	var problems *config.Problems
	switch {
	case errors.As(err, &problems):
		for _, p := range problems.List {
			d.add(check, Problem, "", "%s", p)
		}
	case err != nil:
		d.add(check, Problem, "", "%v", err)
	}
	c, inForce := d.app.Config()
	if err != nil || inForce != nil {
		return inForce == nil
	}
	d.add(check, Fine, "", "agents: %d, models: %d", len(c.Entries()), len(c.Models))
	for _, note := range c.BackupNotes() {
		d.add("backups", Note, "", "%s", note)
	}
	state, err := d.home.State()
	if err != nil {
		d.add(check, Problem, "", "%v", err)
		return true
	}
	s, err := d.app.Settings(state.Current, nil, false)
	if err != nil {
		switch _, there := folder.OpenFolder(d.home, state.Current); {
		case there == nil: // checkContext says it
		case errors.As(err, new(*config.ModelError)) && onlyGuests(c):
			d.add("model", Fine, "", "none is set, and the agents need none: their programs have their own; a prompt for no agent would need one")
		default:
			d.add("model", Problem, "", "%v", err)
		}
	} else if _, err := d.app.Model(s); err != nil {
		d.add("model", Problem, "", "%v", err)
	} else {
		d.add("model", Fine, "", "%s (%s)", s.Model.ID, s.Origins["model"])
	}
	return true
}

// onlyGuests reports whether there are agents, and programs do the turns of each.
func onlyGuests(c *config.Config) bool {
	return len(c.Agents) > 0 && !slices.ContainsFunc(c.Agents, func(a config.Agent) bool { return a.Engine != config.EngineACP })
}

func (d *examination) checkStore(ctx context.Context) {
	const check = "store"
	s, err := d.app.Store(ctx)
	if err != nil {
		d.add(check, Problem, "", "%v", err)
		return
	}
	d.store = s
	found, err := s.Check(ctx)
	if err != nil {
		found = []string{err.Error()}
	}
	for _, f := range found {
		d.add(check, Problem, "restore a backup of "+d.home.DatabaseFile()+", or move it away: contexts come back from their folders", "%s", f)
	}
	m, err := s.Meta(ctx)
	if err == nil && m.NoWrites != "" {
		d.add(check, Problem, "", "%s", m.NoWrites)
	}
	if len(found) == 0 {
		d.storeFine = true
		d.add(check, Fine, "", "the database is sound")
	}
	if old, err := d.app.OldRowsWarning(ctx, s); err != nil {
		d.add("archive", Problem, "", "%v", err)
	} else if old != "" {
		d.add("archive", Note, "", "%s", old)
	}
	dead, err := s.ListRequests(ctx, store.RequestFilter{States: []fika.RequestState{fika.Dead}, Limit: 100})
	if err == nil && len(dead) > 0 {
		d.add("requests", Note, hint.RequestListDead.With()+"; "+hint.RequestRetry.With("ID"), "%d requests were given up", len(dead))
	}
}

func (d *examination) checkPlugins(ctx context.Context) {
	const check = "plugins"
	state, err := d.home.State()
	if err != nil {
		return // said by checkConfig
	}
	s, err := d.app.PlainSettings(state.Current)
	if err != nil {
		return
	}
	before := len(d.out)
	tools := worker.NewToolbox(d.app, d.home.Folder(state.Current), s)
	o := tools.PluginOptions(worker.PluginUse{Workspace: d.home.Root, Reserved: tools.BuiltinNames(), Warn: func(string) {}})
	o.Report = func(name string, err error) { d.add(check, Problem, hint.PluginCheck.With(name), "%s: %v", name, err) }
	plugins, err := plugin.Open(ctx, o)
	switch {
	case err != nil:
		d.add(check, Problem, "", "%v", err)
	case len(d.out) == before:
		var names []string
		for _, p := range plugins.List() {
			names = append(names, p.Name)
		}
		d.add(check, Fine, "", "%d in use%s", len(names), listed(names))
	}
}

func listed(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// checkBus tells what programs that are not fika cannot rely on, or have lost.
func (d *examination) checkBus(ctx context.Context) {
	c, err := service.Open(ctx, d.app, d.who)
	if err != nil {
		return // told by the checks of config and store
	}
	st, err := c.Status(ctx)
	if err != nil {
		return // told by the checks of config and store
	}
	damaged := d.app.DamageWarnings()
	fixed := d.fix && busnats.AcknowledgeLost(d.home.RunDir()) == nil
	for _, w := range st.Warnings {
		if slices.ContainsFunc(d.out, func(f Finding) bool { return f.Text == w }) {
			continue // another check has said so
		}
		level := Note
		if fixed && busnats.IsLostWarning(w) {
			d.add("bus", Fixed, "", "%s", w)
			continue
		}
		if slices.Contains(damaged, w) {
			level = Problem
		}
		d.add("bus", level, "", "%s", w)
	}
}

func (d *examination) checkHub(ctx context.Context) {
	p, up := d.home.HubProcess()
	if !up {
		d.add("hub", Fine, "", "is not running; commands that need it start it")
		return
	}
	if process.IsStopped(p) {
		d.add("hub", Problem, fmt.Sprintf("kill -CONT %d, or: %s", p.PID, hint.DownNow), "does not answer: its process (pid %d) is stopped (SIGSTOP)", p.PID)
		return
	}
	err := d.app.TryBus(ctx)
	c, noConfig := d.app.Config()
	switch {
	case err == nil:
		d.add("hub", Fine, "", "runs (pid %d)", p.PID)
	case noConfig == nil && d.app.External(c, d.home): // to end the hub would not mend somebody else's server
		d.add("hub", Problem, "", "runs (pid %d), and from here the bus cannot be used: %v", p.PID, err)
	default:
		d.add("hub", Problem, hint.DownNow.With()+", then "+hint.Up.With()+"; see logs/hub.log", "runs (pid %d) and its bus does not answer", p.PID)
	}
}

// checkAgents looks for agents that need a person.
func (d *examination) checkAgents(ctx context.Context) {
	c, err := service.Open(ctx, d.app, d.who)
	if err != nil {
		return // checkStore has said so
	}
	views, err := c.Agents.List(ctx, false)
	if err != nil {
		d.add("agents", Problem, "", "cannot be listed: %v", err)
		return
	}
	bad := 0
	for _, v := range views {
		d.checkBackups(v, views)
		if lock, err := d.home.Folder(v.Row.Name).Inspect(); err == nil && isStuck(lock) {
			continue // checkProcesses has said so
		}
		if !v.Trouble.IsClear() && !v.Entry && v.Row.State != fika.AgentFailed { // a mere context, which a person prompts
			d.add("agent "+string(v.Row.Name), Note, "", "%s", words.Brief(v.Trouble, d.app.Now()))
			continue
		}
		if !v.Trouble.IsClear() {
			bad++
			helps := cmp.Or(words.Command(v.Trouble), "see "+hint.AgentLogs.With(v.Row.Name))
			d.add("agents", Problem, helps, "@%s: %s", v.Row.Name, words.Brief(v.Trouble, d.app.Now()))
		}
	}
	if bad == 0 && len(views) > 0 {
		d.add("agents", Fine, "", "none of %d needs attention", len(views))
	}
}

// checkBackups tells of backups that would not take anything over now.
func (d *examination) checkBackups(v service.AgentView, all []service.AgentView) {
	for _, b := range all {
		if !slices.Contains(v.Backup, b.Row.Name) {
			continue
		}
		switch {
		case b.Row.Desired.Stopped():
			d.add("backups", Note, hint.AgentStart.With(b.Row.Name), "@%s is to take over from @%s, and was stopped by hand", b.Row.Name, v.Row.Name)
		case b.Status == fika.AgentFailed:
			d.add("backups", Note, "", "@%s is to take over from @%s, and has failed", b.Row.Name, v.Row.Name)
		}
	}
}

// checkProcesses looks for agents and prompts whose process is there and cannot
// do anything.
func (d *examination) checkProcesses() {
	names, _, err := d.home.List()
	if err != nil {
		return // checkContexts has said so
	}
	for _, name := range names {
		lock, err := d.home.Folder(name).Inspect()
		if err != nil || !lock.Held {
			continue
		}
		if process.IsStopped(lock.Info.Process()) {
			d.add("process", Problem, agentRemedy(name, lock), "@%s does not answer: its process (pid %d) is stopped (SIGSTOP)", name, lock.Info.PID)
		}
	}
}

func agentRemedy(name fika.AgentName, lock folder.LockState) string {
	remedy := fmt.Sprintf("kill -CONT %d", lock.Info.PID)
	if lock.Info.Kind == folder.LockAgent {
		remedy += ", or: " + hint.AgentStopNow.With(name)
	}
	return remedy
}

// isStuck reports whether who holds a context is there and cannot do anything.
func isStuck(lock folder.LockState) bool {
	return lock.Held && process.IsStopped(lock.Info.Process())
}
