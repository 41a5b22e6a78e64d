package app

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"fika/internal/sandbox/confine"
	"fika/internal/system/crash"
	"fika/internal/system/process"
)

// Options are the inputs of one invocation of the program.
type Options struct {
	Root   string // the home's folder; empty: $FIKA_HOME, else the project's, else ~/.fika
	Getenv func(string) string
	Dir    string // the shell's working folder
	Log    *slog.Logger
	Now    func() time.Time
	// LastGood lets a command that only reads or stops things work with the last
	// readable settings if the files cannot be read now.
	LastGood bool
	// Looks says that the command writes nothing, so that a home on a read-only disk is
	// enough.
	Looks bool
	Warn  func(string) // told of that; may be nil

	place *place // shared by the Apps of one invocation
}

// App is one invocation of the program, with a type for each use. Everything is created
// on first use, so that a command pays only for what it needs. An App must be used from
// one goroutine; the values it returns document their own rules.
type App struct {
	*Place
	*OpenedHome
	*Configuration
	*Keyring
	*Resolver
	*Providers
	*Database
	*BusLink
	*Names

	opts     Options
	children *process.Children
	probe    confine.Probe
	closers  *closers
}

// New returns an App that has not opened anything yet.
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
	if o.place == nil {
		o.place = &place{}
	}
	place := &Place{o}
	home := &OpenedHome{opts: o, place: place}
	config := &Configuration{opts: o, place: place, home: home}
	keys := &Keyring{opts: o, place: place, home: home, config: config}
	closers := &closers{}
	db := &Database{opts: o, home: home, config: config, closers: closers}
	settings := &Resolver{opts: o, place: place, home: home, config: config, keys: keys, db: db}
	return &App{
		Place: place, OpenedHome: home, Configuration: config, Keyring: keys, Resolver: settings, Database: db,
		Providers: &Providers{opts: o, home: home, config: config, keys: keys, settings: settings},
		BusLink:   &BusLink{opts: o, config: config, keys: keys, closers: closers},
		Names:     &Names{home: home, config: config, settings: settings, db: db},
		opts:      o, children: process.NewChildren(), closers: closers,
	}
}

// SandboxProbe returns the probe that finds out, once per invocation, how processes can
// be confined.
func (a *App) SandboxProbe() *confine.Probe { return &a.probe }

// Children returns the processes that this invocation has started.
func (a *App) Children() *process.Children { return a.children }

// Now returns the time that rows are stamped with.
func (a *App) Now() time.Time { return a.opts.Now() }

// Getenv returns a variable of this invocation's environment.
func (a *App) Getenv(name string) string { return a.opts.Getenv(name) }

// Dir returns the working folder of the shell.
func (a *App) Dir() string { return a.opts.Dir }

// Log returns the log for processes without a screen.
func (a *App) Log() *slog.Logger { return a.opts.Log }

// CloneUnopened returns a new App with the same options, for another goroutine. The
// caller must close it.
func (a *App) CloneUnopened() *App { return New(a.opts) }

// Close closes what was opened, newest first. It may be called twice.
func (a *App) Close() error {
	a.store = nil
	return a.closers.closeAll()
}

// closers are what an invocation has to close.
type closers struct {
	mu   sync.Mutex
	list []io.Closer
}

func (c *closers) add(x io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, x)
}

func (c *closers) closeAll() error {
	c.mu.Lock()
	list := c.list
	c.list = nil
	c.mu.Unlock()
	var errs []error
	for _, x := range slices.Backward(list) {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}
