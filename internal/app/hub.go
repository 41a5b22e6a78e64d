package app

import (
	"context"
	"errors"
	"os"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/config"
	"fika/internal/crash"
	"fika/internal/folder"
	"fika/internal/hub"
	"fika/internal/store"
)

// HubOptions is a hub process.
type HubOptions struct {
	Ready func(HubReady) // called once
	Hung  time.Duration  // silence after which an agent is ended; 0: 90 s
	Grace time.Duration  // between asking an agent to leave and ending it; 0: 30 s
	// Shutdown is told, once, a function that ends the hub otherwise than ctx
	// does: after the requests of its agents, or without finishing their steps.
	Shutdown func(func(fika.Desired))
}

// HubReady is what a hub says when it is ready.
type HubReady struct {
	PID    int           `json:"pid"`
	Bus    string        `json:"bus"`
	Agents []hub.Started `json:"agents"`
	// Warning is what programs that are not fika cannot rely on; empty: nothing.
	Warning string `json:"warning,omitempty"`
	Error   string `json:"error,omitempty"` // it did not become ready
}

// Hub runs the hub of this home until ctx ends. It takes run/hub.lock first:
// Locked when another hub has it.
func (a *App) Hub(ctx context.Context, o HubOptions) (err error) {
	h, err := a.Home()
	if err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	lock, err := TakeHubLock(h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	s, err := a.Store(ctx)
	if err != nil {
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
	process := hub.New(hub.Options{
		StoreID: meta.StoreID, Hung: o.Hung, StopGrace: o.Grace,
		Store: s, Bus: b.conn, Subjects: bus.Subjects{Prefix: c.NATS.SubjectPrefix}, Inbound: b.inbound, Heal: b.heal,
		Processes: procs, Admit: b.admit, MayBeCalled: func(ctx context.Context, name string) error { return a.MayBeCalled(ctx, name) }, Specs: specs, Log: a.opts.Log, Now: a.opts.Now,
		Home: lock.Holds, WhyWaiting: a.whyWaiting(s, procs, specs), Inboxes: a.takeInboxes,
		Tick: crash.Pace(pollTime), Canary: crash.Pace(canaryTime),
		Ready: func(list []hub.Started) {
			if o.Ready != nil {
				o.Ready(HubReady{PID: os.Getpid(), Bus: b.url, Agents: list, Warning: b.warning})
			}
		},
	})
	if o.Shutdown != nil {
		o.Shutdown(process.Shutdown)
	}
	return process.Run(ctx)
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
