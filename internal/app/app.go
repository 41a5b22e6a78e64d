package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/address"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
	"fika/internal/caller"
	"fika/internal/config"
	"fika/internal/confine"
	"fika/internal/crash"
	"fika/internal/folder"
	"fika/internal/process"
	"fika/internal/redact"
	"fika/internal/store"
)

// Options is what an invocation brings along.
type Options struct {
	Root   string // of the home; empty: $FIKA_HOME, else ~/.fika
	Getenv func(string) string
	Dir    string // the shell's working folder
	Log    *slog.Logger
	Now    func() time.Time
	// LastGood lets a command that only looks or stops work with the settings
	// that could be read last when the files cannot be read now.
	LastGood bool
	// Looks says that the command writes nothing, so that a home on a read-only
	// disk will do.
	Looks bool
	Warn  func(string) // is told of that; nil: nobody is
}

// App is one invocation of the program. Everything is made on first use, so
// that a command pays only for what it needs. It is used from one goroutine;
// what it hands out says itself what it allows.
type App struct {
	opts     Options
	children *process.Children
	probe    confine.Probe
	home     *folder.Home
	config   configuration
	byHub    bool // this is the hub, or an agent that has its environment from it
	store    *store.Store
	closers  []io.Closer
	caller   *caller.Caller // nil: not yet asked for
	readOnly bool           // the home cannot be written
	secrets  *redact.Keys   // nil: not yet asked for
	upgraded []string       // what is different since an older fika used the home
}

// New makes an App; nothing is opened yet.
func New(o Options) *App {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Dir == "" {
		o.Dir, _ = os.Getwd()
	}
	if o.Now == nil {
		o.Now = crash.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return &App{opts: o, children: process.NewChildren()}
}

// SandboxProbe finds out, once for this invocation, how processes can be confined.
func (a *App) SandboxProbe() *confine.Probe { return &a.probe }

// Children are the processes that this invocation starts.
func (a *App) Children() *process.Children { return a.children }

// Now is the time by which rows are stamped.
func (a *App) Now() time.Time { return a.opts.Now() }

// Getenv returns a variable of this invocation's environment.
func (a *App) Getenv(name string) string { return a.opts.Getenv(name) }

// Dir is the working folder of the shell that this was called from.
func (a *App) Dir() string { return a.opts.Dir }

// Log is where a process without a screen tells what it does.
func (a *App) Log() *slog.Logger { return a.opts.Log }

// ReadOnly reports whether the home cannot be written. It is known once the
// home is open.
func (a *App) ReadOnly() bool { return a.readOnly }

// StartedByHub says that this process has its environment from the hub, or is
// the hub: advice about a missing key names it.
func (a *App) StartedByHub() { a.byHub = true }

// Again makes an App with the same options, for another goroutine. Whoever
// calls it closes it.
func (a *App) Again() *App { return New(a.opts) }

// Close closes what was opened, newest first. It may be called twice.
func (a *App) Close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i].Close())
	}
	a.closers = nil
	a.store = nil
	return errors.Join(errs...)
}

func (a *App) owns(c io.Closer) { a.closers = append(a.closers, c) }

// Root is the folder of the home, absolute.
func (a *App) Root() (string, error) {
	root := a.opts.Root
	if root == "" {
		var err error
		if root, err = folder.DefaultRoot(a.opts.Getenv); err != nil {
			return "", err
		}
	}
	return filepath.Abs(root)
}

// Home opens the home, made if it is missing.
func (a *App) Home() (folder.Home, error) {
	if a.home != nil {
		return *a.home, nil
	}
	root, err := a.Root()
	if err != nil {
		return folder.Home{}, err
	}
	h, err := folder.OpenHome(root)
	if a.opts.Looks && fika.IsKind(err, fika.Storage) {
		if readable, roErr := folder.OpenReadOnly(root); roErr == nil {
			a.opts.Warn(fmt.Sprintf("%s cannot be written (read-only disk, or another owner): this is what can be read of it", root))
			h, err, a.readOnly = readable, nil, true
		}
	}
	if err != nil {
		return h, err
	}
	if !a.readOnly {
		a.upgraded = a.upgrade(h)
		if err := h.Prepare(config.Example()); err != nil {
			a.opts.Log.Warn("home", "err", err) // it works without
		}
	}
	a.home = &h
	return h, nil
}

// Store opens the database.
func (a *App) Store(ctx context.Context) (*store.Store, error) {
	if a.store != nil {
		return a.store, nil
	}
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	o := a.StoreOptions(h, c.Store.URL)
	if a.readOnly && o.URL == "" {
		if o.Path, err = a.copyDatabase(h.DatabaseFile()); err != nil {
			return nil, err
		}
	}
	s, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := a.NoteStore(ctx, h, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	a.store = s
	a.owns(s)
	return s, nil
}

// Subjects names the bus subjects of this home.
func (a *App) Subjects() (bus.Subjects, error) {
	c, err := a.Config()
	if err != nil {
		return bus.Subjects{}, err
	}
	return bus.Subjects{Prefix: c.NATS.SubjectPrefix}, nil
}

// Bus connects as the given user: "hub", "member", or an agent's. Without
// retry a hub that is not there is an error of kind NotFound.
func (a *App) Bus(ctx context.Context, who string, retry bool) (bus.Bus, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	o := busnats.Options{Name: "fika " + who, Timeout: dialTimeout(c, retry), ReconnectWait: c.NATS.ReconnectDelay, Retry: retry, Log: a.opts.Log}
	if a.External(c, h) {
		a.ExternalOptions(c, &o)
	} else {
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
		a.eitherServer(c, h, who, &o)
	}
	b, err := busnats.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	a.owns(b)
	return b, nil
}

const (
	// dialPatience bounds how long a command waits for a bus on this machine,
	// and farDialPatience for one elsewhere: the store has what matters.
	dialPatience    = time.Second
	farDialPatience = 2 * time.Second
)

// dialTimeout bounds one attempt to connect. A process that tries again for
// ever may take the time its settings give; a command works without the bus.
func dialTimeout(c *config.Config, retry bool) time.Duration {
	patience := dialPatience
	if retry {
		patience = c.NATS.Timeout
	} else if c.NATS.Server != "" && !address.LoopbackURL(c.NATS.Server) {
		patience = farDialPatience
	}
	if c.NATS.Timeout > 0 {
		patience = min(patience, c.NATS.Timeout)
	}
	return patience
}

// ExternalOptions are the credentials of somebody else's server.
func (a *App) ExternalOptions(c *config.Config, o *busnats.Options) {
	n := c.NATS
	o.URL, o.User, o.Password, o.Token = n.Server, n.User, n.Password, n.Token
	if n.PasswordEnv != "" {
		o.Password = a.opts.Getenv(n.PasswordEnv)
	}
	if n.TokenEnv != "" {
		o.Token = a.opts.Getenv(n.TokenEnv)
	}
	o.NKeyFile, o.CredsFile = n.NKey, n.Creds
	o.TLSCA, o.TLSCert, o.TLSKey = n.TLS.CA, n.TLS.Cert, n.TLS.Key
}

// eitherServer lets a connection find the bus again when the hub has changed
// its mind: a loopback server in the config is somebody else's while it
// answers, and the hub's own when it does not.
func (a *App) eitherServer(c *config.Config, h folder.Home, who string, o *busnats.Options) {
	foreign := *o
	a.ExternalOptions(c, &foreign)
	o.NKeyFile, o.CredsFile = foreign.NKeyFile, foreign.CredsFile
	o.Redial = func() (busnats.Endpoint, error) {
		if a.External(c, h) {
			return busnats.Endpoint{URL: foreign.URL, User: foreign.User, Password: foreign.Password, Token: foreign.Token}, nil
		}
		return busnats.Credentials(h.RunDir(), who)
	}
}

// HubAnswers reports whether the bus of this home answers.
func (a *App) HubAnswers(ctx context.Context) bool {
	b, err := a.Bus(ctx, busnats.UserMember, false)
	if err != nil {
		return false
	}
	_ = b.Close() // again when a closes, which does nothing
	return true
}

// External reports whether the bus is somebody else's server. A loopback
// server in the config is the embedded one when the hub says that it listens
// there (run/hub.json), which it does when nothing answered at that address.
func (a *App) External(c *config.Config, h folder.Home) bool {
	server := c.NATS.Server
	if server == "" {
		return false
	}
	u, err := url.Parse(server)
	if err != nil || !address.Loopback(u.Hostname()) {
		return true
	}
	info, err := busnats.ReadEndpoint(h.RunDir())
	if fika.IsKind(err, fika.NotFound) {
		return true // a hub with a server of its own would have written it
	}
	if err != nil {
		return false // one did, and what it wrote is damaged
	}
	ours, err := url.Parse(info.URL)
	return err != nil || ours.Port() != u.Port()
}

// Waker wakes processes over a bus. It never fails, because nothing depends on it:
// what they are woken for is a committed row.
type Waker struct {
	Bus      bus.Bus
	Subjects bus.Subjects
}

// Wake tells agents to look at the store. The hub hears it too, and starts
// those that do not run.
func (w Waker) Wake(names ...fika.AgentName) {
	for _, n := range names {
		_ = w.Bus.Publish(w.Subjects.Bell(n), nil)
	}
}

// WakeHub tells the hub that somebody wants something of an agent.
func (w Waker) WakeHub() { _ = w.Bus.Publish(w.Subjects.Hub(), nil) }

// Show passes committed entries to whoever watches the conversation.
func (w Waker) Show(c fika.Conversation, entries ...fika.Entry) {
	for _, e := range entries {
		if data, err := e.MarshalJSON(); err == nil {
			_ = w.Bus.Publish(w.Subjects.Chat(c.Name), data)
		}
	}
}
