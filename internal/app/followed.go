package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"fika"
	"fika/internal/agent"
	"fika/internal/config"
	"fika/internal/hook"
	"fika/internal/store"
	"fika/internal/tool/note"
	"fika/internal/turn"
)

// followed gives the turns of a process what its files say now: settings,
// permissions, plugins and keys. Each turn begins with what stands there then;
// what takes something away counts from the next tool step of a running one
// (see [stepHooks]). Files that cannot be read leave what they said last.
//
// It looks at the files with a few stats before each step and reads them only
// when they have changed. It may be used from many goroutines.
type followed struct {
	own   *Owned
	opts  workshopOptions
	flags map[string]string
	quiet bool

	mu    sync.Mutex
	stamp config.Stamp
	now   *workshop
	told  string // the last trouble with a file, said once
}

// follow makes a process follow its files, and gives what they say at its
// beginning.
func (own *Owned) follow(ctx context.Context, o workshopOptions, flags map[string]string, quiet bool) (*followed, error) {
	own.App.FollowConfig(o.warn)
	f := &followed{own: own, opts: o, flags: flags, quiet: quiet}
	if f.opts.notes == nil {
		f.opts.notes = &note.Book{}
	}
	f.stamp = f.look()
	w, err := own.workshop(ctx, f.opts)
	if err != nil {
		return nil, err
	}
	f.opts.starting = false
	w.files, f.now = f, w
	return f, nil
}

// look takes the stamp of everything that a turn depends on and that a person
// may change, but for prompts, which are read when they are used.
func (f *followed) look() config.Stamp {
	h := f.own.Folder.Home
	paths := append(config.HomeFiles(h.Root), f.own.Folder.LocalConfig(), h.KeysFile(), h.PluginsDir())
	dirs, _ := os.ReadDir(h.PluginsDir())
	for _, d := range dirs {
		if d.IsDir() {
			paths = append(paths, filepath.Join(h.PluginsDir(), d.Name(), d.Name()))
		}
	}
	return config.StampOf(paths...)
}

// current gives what the files say now. The error is that of settings that
// can be read and cannot be used: an unknown model, a workspace that is gone.
func (f *followed) current(ctx context.Context) (*workshop, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stamp := f.look()
	if stamp.Same(f.stamp) {
		return f.now, nil
	}
	s, err := f.own.App.Settings(f.own.Folder.Name, f.flags, f.quiet)
	var unreadable *config.Problems
	if errors.As(err, &unreadable) {
		f.tell(BrokenConfig(err) + "; until that is mended the last settings that could be read are in force")
		return f.now, nil
	}
	if err != nil {
		return nil, err
	}
	w, err := f.own.with(s).workshop(ctx, f.opts)
	if err != nil {
		return nil, err
	}
	before := f.now
	w.store, w.inbox, w.grace, w.model, w.files = before.store, before.inbox, before.grace, before.model, f
	f.now, f.stamp, f.told = w, stamp, ""
	return w, nil
}

func (f *followed) tell(text string) {
	if f.told != text {
		f.told = text
		f.opts.warn(text)
	}
}

// with gives the same context with other settings. It owns nothing: lock and
// lease stay where they are.
func (own *Owned) with(s config.Settings) *Owned {
	return &Owned{
		App: own.App, Folder: own.Folder, Settings: s, Agent: own.Agent, Lease: own.Lease,
		Store: own.Store, Mirror: own.Mirror, Created: own.Created,
	}
}

// work runs one claimed request with what the files say at its beginning. A
// request whose settings cannot be used fails visibly instead of staying open
// for ever.
func (f *followed) work(ctx context.Context, c store.Claimed, stop <-chan struct{}, o turn.Observer) (turn.Result, error) {
	w, err := f.current(ctx)
	if err == nil {
		err = w.ensureModel()
	}
	if err != nil {
		f.mu.Lock()
		last := f.now
		f.mu.Unlock()
		return last.refuse(ctx, c, err, o)
	}
	return w.work(ctx, c, stop, o)
}

// ensureModel builds the model of the settings, once.
func (w *workshop) ensureModel() error {
	w.building.Lock()
	defer w.building.Unlock()
	if w.llm != nil {
		return nil
	}
	m, err := w.own.App.Model(w.own.Settings)
	if err == nil {
		w.llm = m
	}
	return err
}

// settings are those that the process itself keeps to, as the files say now.
func (f *followed) settings() agent.Settings {
	_, _ = f.current(context.Background()) // what cannot be used leaves what was
	f.mu.Lock()
	defer f.mu.Unlock()
	own := f.now.own
	return agent.Settings{Limits: Limits(own.Settings.Chat.Limits), MaxConcurrent: own.Settings.MaxConcurrent, MaxIdle: idle(own)}
}

// stepHooks are the hooks of a running turn: those of the plugins that are
// installed now. Before a tool runs they also see whether it is permitted now.
type stepHooks struct {
	files *followed
	begun *workshop // what the turn began with
}

func (w *workshop) stepHooks() hook.Runner {
	if w.files == nil {
		return w.hooks
	}
	return stepHooks{w.files, w}
}

// Fire implements [hook.Runner]. When it cannot be told what is permitted now,
// a tool is not run.
func (h stepHooks) Fire(ctx context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	if at == hook.PreMessage || at == hook.PreSystemPrompt || at == hook.PostSystemPrompt {
		return h.begun.hooks.Fire(ctx, at, p) // the turn has just begun
	}
	now, err := h.files.current(ctx)
	switch {
	case err != nil && at == hook.PreTool:
		return p, fika.Errorf(fika.Denied, "tool", "what is permitted now cannot be told: %v", err)
	case err != nil:
		now = h.begun
	case at == hook.PreTool && now != h.begun:
		name, _ := p["tool_name"].(string)
		if err := now.tools.Check(name); err != nil {
			return p, err
		}
	}
	return now.hooks.Fire(ctx, at, p)
}
