package worker

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/guest"
	"fika/internal/extension/mcp"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
	"fika/internal/tool/job"
)

// Worker is a context that only this process may write: it holds the folder's lock and
// the agent's lease, and its mirror follows the store. The caller must close it. It
// must be used from one goroutine, except for [Worker.Heartbeat].
type Worker struct {
	App      *app.App
	Folder   folder.Folder
	Settings config.Settings // as of its opening
	Agent    fika.Agent
	Lease    store.Lease
	Store    *store.Store
	Mirror   *folder.Mirror
	Created  bool // the folder was created by this opening

	lock    *folder.Lock
	notes   []string    // for the person, see Notes
	servers *mcp.Pool   // MCP servers of this process; nil: none needed yet
	editors editors     // MCP servers of the editors of sessions
	guests  *guest.Pool // programs that stay for their next turn
	jobs    *job.Pool   // background commands of this process; nil: it runs none
	// serverTrouble names the servers whose trouble has been reported.
	serverTrouble map[string]bool
	lease         atomic.Pointer[store.Lease] // nil: not held yet, or released
	fencing       sync.Mutex
	until         time.Duration // when the lease ends at the earliest, in time since boot
	byHub         time.Duration // until when the hub has renewed it
	beat          atomic.Pointer[func() store.Beat]
	lost          atomic.Pointer[func(error)]
	pushing       sync.Mutex // of its files: one turn at a time
}

// Options says how to open a context.
type Options struct {
	Name  fika.AgentName
	Kind  folder.LockKind
	Wait  time.Duration // how long to wait for a held lock; 0: not at all
	Must  bool          // the context must already exist
	Flags map[string]string
	// Plain is for commands that need no model: it uses the settings that every context
	// has, so that a context can be repaired whatever its files say.
	Plain bool
	// Quiet ignores FIKA_MODEL and similar variables, as for processes that the hub
	// starts.
	Quiet bool
}

// Open locks a context and opens what belongs to it: database, agent row, lease,
// mirror. It completes what a crash left half done in the files. Error kind Locked
// (cause *folder.HeldError) if another process holds it.
func Open(ctx context.Context, a *app.App, o Options) (*Worker, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	if err := a.PoolRefusal(o.Name); err != nil {
		return nil, err
	}
	settings, err := settingsFor(a, o)
	if err != nil {
		return nil, err
	}
	w := &Worker{App: a, Settings: settings, guests: guest.NewPool()}
	if o.Must {
		w.Folder, err = folder.OpenFolder(h, o.Name)
	} else {
		w.Folder, w.Created, err = h.Ensure(o.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := w.open(ctx, o); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// OpenCommand opens a context for a change that calls no model. It first settles what a
// crashed one-shot prompt left behind; warn is told what a person should know.
func OpenCommand(ctx context.Context, a *app.App, name fika.AgentName, must bool, wait time.Duration, warn func(string)) (*Worker, error) {
	w, err := Open(ctx, a, Options{Name: name, Kind: folder.LockCommand, Wait: wait, Must: must, Plain: true})
	if err != nil {
		return nil, err
	}
	for _, note := range w.Notes() {
		warn(note)
	}
	if err := w.recoverForeground(ctx, warn); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func settingsFor(a *app.App, o Options) (config.Settings, error) {
	if o.Plain {
		return a.PlainSettings(o.Name)
	}
	return a.Settings(o.Name, o.Flags, o.Quiet)
}

func (w *Worker) open(ctx context.Context, o Options) error {
	lock := folder.LockOptions{Kind: o.Kind, Heartbeat: w.Settings.LockHeartbeat, Beat: w.keepLease}
	var err error
	if w.lock, err = acquireLock(ctx, w.Folder, lock, o.Wait); err != nil {
		return err
	}
	if w.Store, err = w.App.Store(ctx); err != nil {
		return err
	}
	if err := w.acquireLease(ctx); err != nil {
		return err
	}
	if !o.Plain {
		if err := w.keepShared(ctx); err != nil {
			return err
		}
	}
	if err := w.loseJobs(ctx); err != nil {
		return err
	}
	madeAt, err := w.importForeign(ctx)
	if err != nil {
		return err
	}
	if o.Kind == folder.LockRun { // a person reads the warnings
		w.noteOldReflection()
	}
	if err := w.Summary().repair(ctx, w.Store, w.Agent.ActiveAsk); err != nil {
		return err
	}
	if w.Mirror, err = folder.OpenMirror(ctx, w.lock, w.entrySource()); err != nil {
		return err
	}
	_, _ = w.Folder.AgeOutput(w.App.Now()) // the hub also does this, and reports what cannot be removed
	return w.Mirror.MadeAt(madeAt)
}

// acquireLease makes sure that the agent's row exists and takes its lease. Holding the
// flock of the home that owns the folder permits taking the lease from a dead owner at
// once. It returns Locked while another home holds the agent.
func (w *Worker) acquireLease(ctx context.Context) error {
	home, err := w.Folder.Home.ID()
	if err != nil {
		return err
	}
	w.Agent, err = w.Store.EnsureAgent(ctx, store.NewAgent{
		Name: w.Folder.Name, HomeID: home, DisplayName: w.Settings.DisplayName, Description: w.Settings.Description, Definition: w.App.Definition(w.Folder.Name),
	})
	if err != nil {
		return err
	}
	if w.Agent.HomeID != home {
		first, err := w.Store.HostName(ctx, w.Agent.HomeID)
		if err != nil {
			return err
		}
		if d := w.App.Definition(w.Folder.Name); d != nil && (len(d.RunOn) > 0 || d.WorkspaceOn != "") { // it is for several hosts on purpose
			return fika.WithHint(fika.Errorf(fika.Locked, "", "@%s is on the host %s", w.Agent.Name, first), hint.HostList.With())
		}
		own, err := w.Store.HostName(ctx, home)
		if err != nil {
			return err
		}
		return fika.WithHint(fika.Errorf(fika.Locked, "", "the host %s has defined @%s first, and %s defines it too: give yours another name", first, w.Agent.Name, own), hint.HostList.With())
	}
	if err := w.mayRunHere(ctx, home); err != nil {
		return err
	}
	asked := process.Boottime()
	w.Lease, err = w.Store.Acquire(ctx, w.Agent.ID, process.OwnerName(), store.LeaseTime, true)
	if err != nil {
		return err
	}
	w.fence(asked + store.LeaseTime)
	w.lease.Store(&w.Lease)
	return w.lock.SetEpoch(w.Lease.Epoch)
}

// mayRunHere returns Denied if the agent's settings say that it may not run on this host.
func (w *Worker) mayRunHere(ctx context.Context, home string) error {
	d := w.App.Definition(w.Folder.Name)
	if d == nil || len(d.RunOn) == 0 {
		return nil
	}
	host, known, err := w.Store.HostOf(ctx, home)
	if err != nil || !known || host.Fits(d.RunOn) {
		return err
	}
	return fika.WithHint(fika.Errorf(fika.Denied, "", "@%s may run on %s only, and %s is not (run_on)", w.Agent.Name, strings.Join(d.RunOn, ", "), host.Name), hint.HostList.With())
}

// keepLease renews the lease at a touch of the lock, unless the hub has renewed it for
// longer than until the next one.
func (w *Worker) keepLease(ctx context.Context) {
	w.fencing.Lock()
	spared := w.byHub-process.Boottime() > w.Settings.LockHeartbeat+renewAhead
	w.fencing.Unlock()
	if !spared {
		w.Heartbeat(ctx)
	}
}

// renewAhead is how long a lease that is not renewed at a touch of the lock holds at least
// beyond the next one.
const renewAhead = 5 * time.Second

// Renewed notes that the hub has renewed the lease, which holds until a time since boot. It
// is safe for concurrent use.
func (w *Worker) Renewed(until time.Duration) {
	w.fencing.Lock()
	w.byHub = until
	w.fencing.Unlock()
	w.fence(until)
}

// Heartbeat renews the lease, and stores how the agent stands. It is safe for concurrent
// use.
func (w *Worker) Heartbeat(ctx context.Context) {
	l := w.lease.Load()
	if l == nil {
		return
	}
	b := store.Beat{State: fika.AgentBusy}
	if f := w.beat.Load(); f != nil {
		b = (*f)()
	}
	long := max(store.LeaseTime, 3*w.Settings.LockHeartbeat/2)
	asked := process.Boottime()
	err := w.Store.Renew(ctx, *l, long, b)
	for err != nil && !fika.IsKind(err, fika.Lost) && w.Store.Distant() && sleep.For(ctx, renewAgain) == nil {
		asked = process.Boottime()
		err = w.Store.Renew(ctx, *l, long, b)
	}
	if err == nil {
		w.fence(asked + long)
	}
	if f := w.lost.Load(); fika.IsKind(err, fika.Lost) && f != nil {
		(*f)(err)
	}
}

// renewAgain is the pause before a renewal that has failed is tried again.
const renewAgain = time.Second

// fenceAhead is how long before the end of its lease an agent's tools are ended: they are
// gone when somebody else may begin.
const fenceAhead = 2 * time.Second

// fence has the tools of this process end with its lease, which holds until a time since
// boot at least. Where the database is a file, whoever takes the lease over has seen that this process is
// gone, and ends its tools first.
func (w *Worker) fence(until time.Duration) {
	w.fencing.Lock()
	defer w.fencing.Unlock()
	if w.until = max(w.until, until); w.Store.Distant() && !crash.Without(crash.Watch) {
		w.App.Children().Until(w.until - fenceAhead)
	}
}

// FreeMemory returns memory that turns needed to the system.
func (w *Worker) FreeMemory() {
	w.App.Children().Rest()
	debug.FreeOSMemory()
}

// OnHeartbeat sets what the heartbeat stores, and the function to call when another
// owner has taken the lease.
func (w *Worker) OnHeartbeat(beat func() store.Beat, lost func(error)) {
	w.beat.Store(&beat)
	w.lost.Store(&lost)
}

// Rename renames the locked folder only: the agent's row keeps its name.
func (w *Worker) Rename(to fika.AgentName) error {
	if err := w.lock.Rename(to); err != nil {
		return err
	}
	w.Folder = w.Folder.Home.Folder(to)
	return nil
}

// Notes returns and clears what a person should know about this opening: that a folder
// was imported, that a file was set aside.
func (w *Worker) Notes() []string {
	notes := append(w.notes, w.Mirror.TakeNotes()...)
	w.notes = nil
	return notes
}

// Close releases the lease and the lock. It may be called twice, and on a context that
// was only partly opened.
func (w *Worker) Close() error {
	var errs []error
	if w.jobs != nil {
		errs = append(errs, w.jobs.Close())
		w.jobs = nil
	}
	if w.servers != nil {
		errs = append(errs, w.servers.Close())
		w.servers = nil
	}
	w.editors.close()
	w.guests.Close()
	if w.Mirror != nil && w.lock != nil {
		_ = w.Mirror.Sync(context.Background()) // for what arrived meanwhile; the next opening also does it
	}
	if l := w.lease.Swap(nil); l != nil {
		errs = append(errs, w.Store.Release(context.Background(), *l))
	}
	if w.lock != nil {
		errs = append(errs, w.lock.Close())
		w.lock = nil
	}
	return errors.Join(errs...)
}

// Summary returns what compaction left of the conversation.
func (w *Worker) Summary() Summary { return Summary{w.Folder} }

func (w *Worker) entrySource() EntrySource {
	return EntrySource{Store: w.Store, Agent: w.Agent.Name}
}

func (w *Worker) importer() importer {
	return importer{store: w.Store, agent: w.Agent, folder: w.Folder}
}
