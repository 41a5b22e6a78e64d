package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"fika"
	"fika/internal/caller"
	"fika/internal/confine"
	"fika/internal/crash"
	"fika/internal/folder"
	"fika/internal/process"
	"fika/internal/redact"
	"fika/internal/store"
)

// Options is what an invocation brings along.
type Options struct {
	Root   string // of the home; empty: $FIKA_HOME, else the project's, else ~/.fika
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

	place *place // shared by the Apps of one invocation
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
	if o.place == nil {
		o.place = &place{}
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
		a.upgraded = upgrade(h, a.opts.Log)
		if err := a.prepare(h); err != nil {
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
	h, c, err := a.HomeAndConfig()
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
