package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/process"
	"fika/internal/redact"
	"fika/internal/store"
)

// leaseTime is how long a lease lasts without a sign of life.
const leaseTime = 45 * time.Second

// Owned is a context that this process alone may write: its folder's lock and
// its agent's lease are held, its mirror follows the store. Close gives all
// up, in reverse.
type Owned struct {
	App      *App
	Folder   folder.Folder
	Settings config.Settings
	Agent    fika.Agent
	Lease    store.Lease
	Store    *store.Store
	Mirror   *folder.Mirror
	Created  bool

	lock  *folder.Lock
	keys  *redact.Keys // taken out of what tools, hooks and plugins say; set with the tools
	notes []string     // for the person, see Notes
	// madeAt is when a folder from elsewhere says that it was made.
	madeAt time.Time
	lease  atomic.Pointer[store.Lease]
	beat   atomic.Pointer[func() store.Beat]
	lost   atomic.Pointer[func(error)]
}

// OwnOptions says how to take a context.
type OwnOptions struct {
	Name  fika.AgentName
	Kind  folder.LockKind
	Wait  time.Duration // for a held lock; 0: not at all
	Must  bool          // the context has to exist already
	Flags map[string]string
	// Plain is for commands that need no model: the settings are those every
	// context has, so that a context can be mended whatever its files say.
	Plain bool
	// Quiet takes no settings from FIKA_MODEL and its like, as for processes
	// that the hub starts.
	Quiet bool
}

// Own takes a context: lock, database, agent row, lease, mirror. Error kind
// Locked (cause *folder.HeldError) when somebody has it.
func (a *App) Own(ctx context.Context, o OwnOptions) (*Owned, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	settings, err := a.settingsFor(o)
	if err != nil {
		return nil, err
	}
	own := &Owned{App: a, Settings: settings}
	if o.Must {
		own.Folder, err = folder.OpenFolder(h, o.Name)
	} else {
		own.Folder, own.Created, err = h.Ensure(o.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := own.take(ctx, o); err != nil {
		own.Close()
		return nil, err
	}
	return own, nil
}

func (own *Owned) take(ctx context.Context, o OwnOptions) error {
	lock := folder.LockOptions{Kind: o.Kind, Heartbeat: own.Settings.LockHeartbeat, Beat: own.heartbeat}
	var err error
	if own.lock, err = takeLock(ctx, own.Folder, lock, o.Wait); err != nil {
		return err
	}
	if own.Store, err = own.App.Store(ctx); err != nil {
		return err
	}
	if err := own.acquire(ctx); err != nil {
		return err
	}
	if err := own.adopt(ctx); err != nil {
		return err
	}
	if o.Kind == folder.LockRun { // a person reads what it says
		own.reflectionNote()
	}
	if err := own.mendSummary(ctx); err != nil {
		return err
	}
	if own.Mirror, err = folder.OpenMirror(ctx, own.lock, asks{store: own.Store, agent: own.Agent.Name}); err != nil {
		return err
	}
	_, _ = own.Folder.AgeOutput(own.App.Now()) // the hub does it, too, and says what cannot be removed
	return own.Mirror.MadeAt(own.madeAt)
}

// acquire makes sure of the agent's row and takes its lease. The flock of the
// home that owns the folder permits taking it from a dead owner at once.
func (own *Owned) acquire(ctx context.Context) error {
	home, err := own.Folder.Home.ID()
	if err != nil {
		return err
	}
	own.Agent, err = own.Store.EnsureAgent(ctx, store.NewAgent{
		Name: own.Folder.Name, HomeID: home, DisplayName: own.Settings.DisplayName, Description: own.Settings.Description,
	})
	if err != nil {
		return err
	}
	own.Lease, err = own.Store.Acquire(ctx, own.Agent.ID, process.Owner(), leaseTime, own.Agent.HomeID == home)
	if err != nil {
		return err
	}
	own.lease.Store(&own.Lease)
	return own.lock.SetEpoch(own.Lease.Epoch)
}

// heartbeat renews the lease with each touch of the lock.
func (own *Owned) heartbeat(ctx context.Context) {
	l := own.lease.Load()
	if l == nil {
		return
	}
	b := store.Beat{State: fika.AgentBusy}
	if f := own.beat.Load(); f != nil {
		b = (*f)()
	}
	err := own.Store.Renew(ctx, *l, max(leaseTime, 3*own.Settings.LockHeartbeat/2), b)
	if f := own.lost.Load(); fika.IsKind(err, fika.Lost) && f != nil {
		(*f)(err)
	}
}

// Follow says what the heartbeat stores, and whom to tell when the lease is
// another's.
func (own *Owned) Follow(beat func() store.Beat, lost func(error)) {
	own.beat.Store(&beat)
	own.lost.Store(&lost)
}

// Close releases the lease and the lock. It may be called twice, and on a
// context that was only half taken.
func (own *Owned) Close() error {
	var errs []error
	if own.Mirror != nil && own.lock != nil {
		_ = own.Mirror.Sync(context.Background()) // what came in meanwhile; the next opening does it, too
	}
	if l := own.lease.Swap(nil); l != nil {
		errs = append(errs, own.Store.Release(context.Background(), *l))
	}
	if own.lock != nil {
		errs = append(errs, own.lock.Close())
		own.lock = nil
	}
	return errors.Join(errs...)
}

// started fires on_start, makes the contexts that plugins want to exist, and
// returns what fires on_end.
func (own *Owned) started(ctx context.Context, h hook.Runner, verbose bool, warn func(string)) (func(), error) {
	name := string(own.Agent.Name)
	out, err := h.Fire(ctx, hook.OnStart, hook.Payload{"current_context": name, "verbose": verbose})
	if err != nil {
		return func() {}, err
	}
	wanted, _ := out["contexts"].([]hook.Context)
	for _, c := range wanted {
		if err := own.ensureContext(ctx, c); err != nil {
			warn(fmt.Sprintf("context %q, which a plugin needs, was not made: %v", c.Name, err))
		}
	}
	return func() {
		_, _ = h.Fire(context.WithoutCancel(ctx), hook.OnEnd, hook.Payload{"current_context": name})
	}, nil
}

// ensureContext makes a context that a plugin wants, with its prompt. One that
// was used already, or has a prompt, stays as it is.
func (own *Owned) ensureContext(ctx context.Context, c hook.Context) error {
	name, err := fika.ParseAgentName(c.Name)
	if err != nil || name == own.Agent.Name {
		return err
	}
	created, err := own.makeContext(ctx, name, c.SystemPrompt)
	if err != nil || created || c.SystemPrompt == "" {
		return err
	}
	row, err := own.Store.Agent(ctx, name)
	if err != nil || row.ActiveAsk != "" {
		return err
	}
	f := own.Folder.Home.Folder(name)
	mine, err := f.Read(folder.SystemPrompt)
	if err != nil || strings.TrimSpace(mine.Body) != "" {
		return err
	}
	_, err = f.WriteIf(folder.SystemPrompt, mine.Hash, c.SystemPrompt+"\n")
	return err
}
