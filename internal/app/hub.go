package app

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"fika"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
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
	Error  string        `json:"error,omitempty"` // it did not become ready
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
		Home: lock.Holds,
		Tick: crash.Pace(pollTime), Canary: crash.Pace(canaryTime),
		Ready: func(list []hub.Started) {
			if o.Ready != nil {
				o.Ready(HubReady{PID: os.Getpid(), Bus: b.url, Agents: list})
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

// hubBus is the bus as the hub has it: its connection, the stream of foreign
// requests, and the embedded server, if it is ours.
type hubBus struct {
	conn    bus.Bus
	inbound bus.Inbound
	server  *busnats.Server
	heal    func(context.Context) error
	admit   func(fika.AgentName) error
	url     string
}

// Close ends the connection and then the server.
func (b *hubBus) Close() error {
	err := b.conn.Close()
	if b.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err = errors.Join(err, b.server.Shutdown(ctx))
	}
	return err
}

// openBus starts the embedded server, or connects to the one the config names.
func (a *App) openBus(ctx context.Context, h folder.Home, c *config.Config, specs []hub.Spec) (*hubBus, error) {
	port, external := embeddedPort(c)
	b := &hubBus{url: c.NATS.Server}
	var err error
	if external {
		o := busnats.Options{Name: "fika hub", Timeout: c.NATS.Timeout, Log: a.opts.Log}
		a.externalOptions(c, &o)
		// What a hub with a server of its own left behind would mislead clients.
		if err := os.Remove(filepath.Join(h.RunDir(), "hub.json")); err != nil && !os.IsNotExist(err) {
			return nil, fika.Wrap(fika.Storage, "hub.json", err)
		}
		b.conn, err = busnats.Dial(ctx, o)
		if fika.IsKind(err, fika.Denied) && loopbackURL(c.NATS.Server) {
			err = &fika.Error{Kind: fika.Denied, Op: "bus", Msg: "the server at " + c.NATS.Server + " refuses; if it is the hub of another home, set another nats.server or nats.port here", Err: err}
		}
	} else {
		var names []fika.AgentName
		for _, s := range specs {
			names = append(names, s.Name)
		}
		b.server, err = busnats.StartServer(ctx, busnats.ServerOptions{
			Dir: filepath.Join(h.RunDir(), "jetstream"), RunDir: h.RunDir(), Port: port, Prefix: c.NATS.SubjectPrefix, Agents: names, Log: a.opts.Log,
		})
		if err != nil {
			return nil, err
		}
		b.heal, b.admit = b.server.Restart, b.server.EnsureAgent
		b.conn, err = b.dialOwn(ctx, h)
	}
	if err != nil {
		if b.server != nil {
			_ = b.server.Shutdown(ctx)
		}
		return nil, err
	}
	b.inbound, err = busnats.OpenInbound(ctx, b.conn, busnats.InboundOptions{Prefix: c.NATS.SubjectPrefix})
	if err != nil && external {
		a.opts.Log.Warn("foreign requests are not kept: the server has no JetStream", "err", err)
		b.inbound, err = nil, nil
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *hubBus) dialOwn(ctx context.Context, h folder.Home) (bus.Bus, error) {
	ep, err := b.server.Endpoint(busnats.UserHub)
	if err != nil {
		return nil, err
	}
	b.url = ep.URL
	return busnats.Dial(ctx, busnats.Options{
		URL: ep.URL, User: ep.User, Password: ep.Password, Inbox: ep.Inbox, Name: "fika hub",
		Redial: busnats.RedialFrom(h.RunDir(), busnats.UserHub),
	})
}

func loopbackURL(server string) bool {
	u, err := url.Parse(server)
	return err == nil && busnats.Loopback(u.Hostname())
}

// embeddedPort says where the embedded server listens (0: its own choice), or
// that the config names a server that is somebody else's: one that is not on
// this machine, or one that answers.
func embeddedPort(c *config.Config) (port int, external bool) {
	if c.NATS.Server == "" {
		return c.NATS.Port, false
	}
	u, err := url.Parse(c.NATS.Server)
	if err != nil || !busnats.Loopback(u.Hostname()) {
		return 0, true
	}
	p := u.Port()
	if p == "" {
		p = "4222"
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), p), 200*time.Millisecond)
	if err == nil {
		_ = conn.Close()
		return 0, true
	}
	n, err := strconv.Atoi(p)
	return n, err != nil
}
