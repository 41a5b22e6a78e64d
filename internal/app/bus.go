package app

import (
	"context"
	"net/url"
	"strings"
	"time"

	"fika"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/system/address"
	"fika/internal/system/sleep"
)

// BusLink connects to the bus of the home.
type BusLink struct {
	opts    Options
	config  *Configuration
	keys    *Keyring
	closers *closers
}

// Subjects returns the bus subjects of this home.
func (l *BusLink) Subjects() (bus.Subjects, error) {
	c, err := l.config.Config()
	if err != nil {
		return bus.Subjects{}, err
	}
	return bus.Subjects{Prefix: c.NATS.SubjectPrefix}, nil
}

// Bus connects as the given user: "hub", "member", or an agent's. Without retry it
// returns NotFound if no hub runs.
func (l *BusLink) Bus(ctx context.Context, who string, retry bool) (bus.Bus, error) {
	return l.dial(ctx, who, retry, 0)
}

// ListenerBus connects for a process that only listens and wants to miss as little as
// possible: it reconnects to a hub on this machine within a tenth of a second or two
// after the hub is back, as soon as others do.
func (l *BusLink) ListenerBus(ctx context.Context) (bus.Bus, error) {
	return l.dial(ctx, busnats.UserMember, true, listenerWait)
}

// dial connects. If localWait is not 0, it is the pause between attempts to reach a
// server on this machine.
func (l *BusLink) dial(ctx context.Context, who string, retry bool, localWait time.Duration) (bus.Bus, error) {
	h, c, err := l.config.HomeAndConfig()
	if err != nil {
		return nil, err
	}
	o := busnats.Options{Name: "fika " + who, Timeout: dialTimeout(c, retry), ReconnectWait: c.NATS.ReconnectDelay, Retry: retry, Log: l.opts.Log}
	if l.External(c, h) {
		if err := l.ExternalOptions(c, &o); err != nil {
			return nil, err
		}
	} else {
		if localWait > 0 {
			o.ReconnectWait, o.LongestWait = localWait, localWait
		}
		ep, err := busnats.Credentials(h.RunDir(), who)
		if err != nil && !(retry && fika.IsKind(err, fika.NotFound)) {
			return nil, err
		}
		if err != nil {
			ep.URL = "nats://127.0.0.1:4222" // replaced by Redial once there is a hub
		}
		o.URL, o.User, o.Password, o.Inbox = ep.URL, ep.User, ep.Password, ep.Inbox
		o.Redial = busnats.RedialFrom(h.RunDir(), who)
	}
	if c.NATS.Server != "" && address.LoopbackURL(c.NATS.Server) {
		l.eitherServer(c, h, who, &o)
	}
	b, err := busnats.Dial(ctx, o)
	far := c.NATS.Server != "" && !address.LoopbackURL(c.NATS.Server) // a hub on this machine is started instead
	for tried := 1; far && !retry && fika.IsKind(err, fika.Failed) && tried < c.NATS.ReconnectAttempts; tried++ {
		if sleep.For(ctx, o.WaitAfter(tried)) != nil {
			break
		}
		b, err = busnats.Dial(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	l.closers.add(b)
	return b, nil
}

const (
	// dialPatience bounds how long a command waits for a bus on this machine, and
	// farDialPatience for a remote one: the store has what matters. A process that tries
	// for ever begins its work after its first attempt, which has stayingPatience.
	dialPatience    = time.Second
	farDialPatience = 2 * time.Second
	stayingPatience = 3 * time.Second
	// listenerWait is how long a listener waits before it tries again to reach the hub
	// of this machine.
	listenerWait = 100 * time.Millisecond
)

// dialTimeout bounds one attempt to connect, of a command or of a process that retries for
// ever.
func dialTimeout(c *config.Config, retry bool) time.Duration {
	patience := dialPatience
	if retry {
		patience = stayingPatience
	} else if c.NATS.Server != "" && !address.LoopbackURL(c.NATS.Server) {
		patience = farDialPatience
	}
	if c.NATS.Timeout > 0 {
		patience = min(patience, c.NATS.Timeout)
	}
	return patience
}

// ExternalOptions sets the address and credentials of an external server. A password or
// token that the settings name is found like a webhook's secret; where it is stored, it is
// bound to the first of several servers.
func (l *BusLink) ExternalOptions(c *config.Config, o *busnats.Options) (err error) {
	n := c.NATS
	first, _, _ := strings.Cut(n.Server, ",")
	o.URL, o.User, o.Password, o.Token = n.Server, n.User, n.Password, n.Token
	if n.PasswordEnv != "" {
		if o.Password, err = l.keys.forHost("bus", n.PasswordEnv, first); err != nil {
			return err
		}
	}
	if n.TokenEnv != "" {
		if o.Token, err = l.keys.forHost("bus", n.TokenEnv, first); err != nil {
			return err
		}
	}
	o.NKeyFile, o.CredsFile = n.NKey, n.Creds
	o.TLSCA, o.TLSCert, o.TLSKey = n.TLS.CA, n.TLS.Cert, n.TLS.Key
	return nil
}

// eitherServer lets a connection find the bus again after the hub has switched servers:
// a loopback server in the configuration is external while it answers, and the hub's
// own when it does not.
func (l *BusLink) eitherServer(c *config.Config, h folder.Home, who string, o *busnats.Options) {
	o.NKeyFile, o.CredsFile = c.NATS.NKey, c.NATS.Creds
	o.Redial = func() (busnats.Endpoint, error) {
		if l.External(c, h) {
			var foreign busnats.Options
			if err := l.ExternalOptions(c, &foreign); err != nil {
				return busnats.Endpoint{}, err
			}
			return busnats.Endpoint{URL: foreign.URL, User: foreign.User, Password: foreign.Password, Token: foreign.Token}, nil
		}
		return busnats.Credentials(h.RunDir(), who)
	}
}

// TryBus returns why the bus of this home does not answer, or nil.
func (l *BusLink) TryBus(ctx context.Context) error {
	b, err := l.Bus(ctx, busnats.UserMember, false)
	if err != nil {
		return err
	}
	_ = b.Close() // the App closes it again, which does nothing
	return nil
}

// External reports whether the bus is an external server. A loopback server in the
// configuration is the embedded one if the hub says that it listens there
// (run/hub.json), which it does when nothing answered at that address.
func (l *BusLink) External(c *config.Config, h folder.Home) bool {
	server := c.NATS.Server
	if server == "" {
		return false
	}
	u, err := url.Parse(server)
	if err != nil || !address.IsLoopback(u.Hostname()) {
		return true
	}
	info, err := busnats.ReadEndpoint(h.RunDir())
	if fika.IsKind(err, fika.NotFound) {
		return true // a hub with its own server would have written the file
	}
	if err != nil {
		return false // a hub did, and the file is damaged
	}
	ours, err := url.Parse(info.URL)
	return err != nil || ours.Port() != u.Port()
}

// Waker wakes processes over a bus. It never fails, because nothing depends on it: the
// work is a committed row.
type Waker struct {
	Bus      bus.Bus
	Subjects bus.Subjects
}

// Wake tells agents to read the store. The hub also hears it, and starts agents that do
// not run.
func (w Waker) Wake(names ...fika.AgentName) {
	for _, n := range names {
		_ = w.Bus.Publish(w.Subjects.Bell(n), nil)
	}
}

// RingEvents tells whoever watches that events were committed.
func (w Waker) RingEvents() { _ = w.Bus.Publish(w.Subjects.Events(), nil) }

// WakeExecutor tells an executor to read the store.
func (w Waker) WakeExecutor(name string) { _ = w.Bus.Publish(w.Subjects.Executor(name), nil) }

// WakeHub tells the hub that the desired state of an agent has changed.
func (w Waker) WakeHub() { _ = w.Bus.Publish(w.Subjects.Hub(), nil) }

// Show publishes committed entries to those who watch the conversation.
func (w Waker) Show(c fika.Conversation, entries ...fika.Entry) {
	for _, e := range entries {
		if data, err := e.MarshalJSON(); err == nil {
			_ = w.Bus.Publish(w.Subjects.Chat(c.Name), data)
		}
	}
}
