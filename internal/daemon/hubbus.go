package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
	"fika/internal/hub"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/system/address"
)

// hubBus is the hub's bus: its connection, the stream of foreign requests, and the
// embedded server, if the server is ours.
type hubBus struct {
	conn    bus.Bus
	inbound bus.Inbound
	server  *busnats.Server
	heal    func(context.Context) error
	admit   func(fika.AgentName) error
	url     string
	warning string // what foreign programs cannot rely on; empty: nothing
}

// Close closes the connection and then the server.
func (b *hubBus) Close() error {
	err := b.conn.Close()
	if b.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err = errors.Join(err, b.server.Shutdown(ctx))
	}
	return err
}

// openBus starts the embedded server, or connects to the one that the configuration
// names.
func openBus(ctx context.Context, a *app.App, h folder.Home, c *config.Config, specs []hub.Spec) (*hubBus, error) {
	port, external := embeddedPort(c)
	b := &hubBus{url: c.NATS.Server}
	var err error
	if external {
		o := busnats.Options{Name: "fika hub", Timeout: c.NATS.Timeout, Log: a.Log()}
		if err := a.ExternalOptions(c, &o); err != nil {
			return nil, err
		}
		// A file left behind by a hub with its own server would mislead clients.
		if err := os.Remove(filepath.Join(h.RunDir(), "hub.json")); err != nil && !os.IsNotExist(err) {
			return nil, fika.Wrap(fika.Storage, "hub.json", err)
		}
		b.conn, err = busnats.Dial(ctx, o)
		if fika.IsKind(err, fika.Denied) && address.LoopbackURL(c.NATS.Server) {
			err = &fika.Error{Kind: fika.Denied, Op: "bus", Msg: "the server at " + c.NATS.Server + " refuses; if it is the hub of another home, set another nats.server or nats.port here", Err: err}
		}
	} else {
		var names []fika.AgentName
		for _, s := range specs {
			names = append(names, s.Name)
		}
		b.server, err = busnats.StartServer(ctx, busnats.ServerOptions{
			Dir: filepath.Join(h.RunDir(), "jetstream"), RunDir: h.RunDir(), Port: port, Prefix: c.NATS.SubjectPrefix, Agents: names, Members: busMembers(c), Log: a.Log(),
		})
		if err != nil {
			return nil, err
		}
		b.admit = b.server.EnsureAgent
		b.conn, err = b.dialOwn(ctx, h)
	}
	if err != nil {
		if b.server != nil {
			_ = b.server.Shutdown(ctx)
		}
		return nil, err
	}
	if err := b.openInbound(ctx, a.Log(), c.NATS.SubjectPrefix); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// setMembers tells the hub's own server which members there are now.
func (b *hubBus) setMembers(c *config.Config) error {
	if b.server == nil {
		return nil
	}
	return b.server.SetMembers(busMembers(c))
}

// openInbound opens the source of foreign requests: the stream of our own server, which
// is set aside if it is damaged, or what an external server offers.
func (b *hubBus) openInbound(ctx context.Context, log *slog.Logger, prefix string) (err error) {
	o := busnats.InboundOptions{Prefix: prefix, Log: func(err error) { log.Warn("foreign requests", "err", err) }}
	if b.server != nil {
		b.heal = func(ctx context.Context) error { return b.server.Heal(ctx, b.conn, o) }
		b.inbound, err = b.server.OpenInbound(ctx, b.conn, o)
		return err
	}
	var unkept error
	b.inbound, unkept, err = busnats.OpenExternal(ctx, b.conn, o)
	if unkept != nil {
		b.warning = busnats.UnkeptWarning(unkept)
		log.Warn(b.warning)
	}
	return err
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

// embeddedPort returns the port of the embedded server (0: its own choice), or reports
// that the configuration names an external server: one that is not on this machine, or
// one that answers.
func embeddedPort(c *config.Config) (port int, external bool) {
	if c.NATS.Server == "" {
		return c.NATS.Port, false
	}
	u, err := url.Parse(c.NATS.Server)
	if err != nil || !address.IsLoopback(u.Hostname()) {
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

// busMembers converts the members in the configuration to the form that the server
// takes.
func busMembers(c *config.Config) []busnats.Member {
	var out []busnats.Member
	for _, m := range c.BusMembers {
		one := busnats.Member{Name: m.Name}
		if m.Agents != nil {
			one.Agents = []fika.AgentName{}
		}
		for _, a := range m.Agents {
			one.Agents = append(one.Agents, fika.AgentName(a))
		}
		out = append(out, one)
	}
	return out
}
