package app

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/config"
	"fika/internal/crash"
	"fika/internal/folder"
	"fika/internal/hub"
	"fika/internal/process"
	"fika/internal/store"
)

// HubOptions is a hub process.
type HubOptions struct {
	Ready func(hub.Ready) // called once
	Hung  time.Duration   // silence after which an agent is ended; 0: 90 s
	Grace time.Duration   // between asking an agent to leave and ending it; 0: 30 s
	// Shutdown is told, once, a function that ends the hub otherwise than ctx
	// does: after the requests of its agents, or without finishing their steps.
	Shutdown func(func(fika.Desired))
}

// Hub runs the hub of this home until ctx ends. It takes run/hub.lock first:
// Locked when another hub has it.
func (a *App) Hub(ctx context.Context, o HubOptions) (err error) {
	_ = process.Private() // as for agents
	h, err := a.Home()
	if err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	lock, err := h.LockHub()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	if err := s.Sound(ctx); err != nil {
		return err
	}
	specs, err := a.specs(ctx, h, c, s)
	if err != nil {
		return err
	}
	b, err := a.openBus(ctx, h, c, specs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	procs, err := newProcesses(h)
	if err != nil {
		return err
	}
	meta, err := s.Meta(ctx)
	if err != nil {
		return err
	}
	a.StartedByHub()
	a.FollowConfig(func(text string) { a.Log().Warn(text) })
	ctx, cancel := context.WithCancel(ctx)
	var daily sync.WaitGroup
	defer daily.Wait()
	defer cancel()
	daily.Go(func() { a.keepBackups(ctx, h, c.Store.Backups) })
	process := hub.New(hub.Options{
		Reload: a.reload(h, s), Hindered: a.hindered,
		StoreID: meta.StoreID, Hung: o.Hung, StopGrace: o.Grace,
		Store: s, Bus: CleanBus{b.conn, a.Secrets()}, Subjects: bus.Subjects{Prefix: c.NATS.SubjectPrefix}, Inbound: b.inbound, Heal: b.heal,
		Processes: procs, Admit: b.admit, MayBeCalled: func(ctx context.Context, name string) error { return a.MayBeCalled(ctx, name) }, Specs: specs, Log: a.Log(), Now: a.Now,
		Home: lock.Holds, WhyWaiting: a.whyWaiting(s, procs), Inboxes: a.takeInboxes, Outputs: a.ageOutputs,
		Tick: crash.Pace(pollTime), Canary: crash.Pace(canaryTime),
		Ready: func(list []hub.Started) {
			if o.Ready != nil {
				o.Ready(hub.Ready{PID: os.Getpid(), Bus: b.url, Agents: list, Warning: b.warning})
			}
		},
	})
	if o.Shutdown != nil {
		o.Shutdown(process.Shutdown)
	}
	return process.Run(ctx)
}

// reload gives the agents of the config when anything has changed that decides
// whether they run.
func (a *App) reload(h folder.Home, s *store.Store) func(context.Context) ([]hub.Spec, bool) {
	first, _ := a.Config()
	look := func() config.Stamp {
		paths := append(config.HomeFiles(h.Root), h.KeysFile())
		if c, err := a.Config(); err == nil {
			for _, e := range c.Agents {
				paths = append(paths, h.Folder(fika.AgentName(e.ID)).LocalConfig())
			}
		}
		return config.StampOf(paths...)
	}
	before := look()
	return func(ctx context.Context) ([]hub.Spec, bool) {
		now := look()
		if now.Same(before) {
			return nil, false
		}
		before = now
		c, err := a.Config()
		if err != nil {
			return nil, false
		}
		if c.NATS != first.NATS || c.Store != first.Store {
			first = c
			a.Log().Warn("[nats] or [store] has changed: that counts from the next fika down and fika up")
		}
		specs, err := a.specs(ctx, h, c, s)
		if err != nil {
			a.Log().Warn("reload", "err", err)
		}
		return specs, err == nil
	}
}

// hindered says why an agent could not work if the hub started it now: its
// settings, its workspace, its model or the model's key.
func (a *App) hindered(name fika.AgentName) error {
	s, err := a.Settings(name, nil, true)
	if err != nil {
		return err
	}
	if err := checkWorkspace(s.Workspace, name); s.Workspace != "" && err != nil {
		return err
	}
	_, err = a.Model(s)
	return err
}

// checkWorkspace refuses a workspace that is no folder.
func checkWorkspace(dir string, name fika.AgentName) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fika.Errorf(fika.Invalid, "workspace", "%s is not a folder: mkdir -p %s, or change workspace in the settings of %q", dir, dir, name)
	}
	return nil
}

// specs lists the agents of the config, with their rows and folders made.
func (a *App) specs(ctx context.Context, h folder.Home, c *config.Config, s *store.Store) ([]hub.Spec, error) {
	id, err := h.ID()
	if err != nil {
		return nil, err
	}
	var out []hub.Spec
	for _, e := range c.Agents {
		name, err := fika.ParseAgentName(e.ID)
		if err != nil {
			return nil, err
		}
		if _, _, err := h.Ensure(name); err != nil {
			return nil, err
		}
		row, err := s.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: id, DisplayName: e.Name, Description: e.Description})
		if err != nil {
			return nil, err
		}
		if row.HomeID == id {
			out = append(out, hub.Spec{Name: name, AutoStart: e.AutoStart && c.Master.AutoStartAgents, Persistent: e.Persistent, Wake: e.Wake})
		}
	}
	return out, nil
}
