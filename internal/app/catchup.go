package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"fika"
	"fika/internal/folder"
)

// CatchUp takes in what other programs left in the inbox of a context, and
// brings its files up to date with the store. While somebody has the context
// nothing is done: that process does it itself.
func (a *App) CatchUp(ctx context.Context, name fika.AgentName) (err error) {
	h, err := a.Home()
	if err != nil {
		return err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := a.Recipient(ctx, name)
	if err != nil {
		return err
	}
	if id, err := h.ID(); err != nil || row.HomeID != id {
		return err // its files are elsewhere
	}
	f, _, err := h.Ensure(name)
	if err != nil {
		return err
	}
	src := asks{store: s, agent: name}
	if foreign, err := f.Adoptable(ctx, src); err != nil || foreign {
		return err // whoever uses it first imports it
	}
	lock, err := folder.TryLock(ctx, f, folder.LockOptions{Kind: folder.LockMirror})
	if fika.IsKind(err, fika.Locked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	own := &Owned{App: a, Folder: f, Agent: row, Store: s, lock: lock}
	if err := (&inbox{own: own, warn: func(string) {}}).take(ctx); err != nil {
		return err
	}
	_, err = folder.OpenMirror(ctx, lock, src)
	return err
}

// takeInboxes takes in what other programs left in the inboxes of contexts. A
// look at an empty one is a stat.
func (a *App) takeInboxes(ctx context.Context) {
	h, err := a.Home()
	if err != nil {
		return
	}
	names, _, err := h.List()
	if err != nil {
		return // doctor says what is wrong with the folder
	}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(h.Folder(name).Path(), "inbox.jsonl"))
		if err != nil || info.Size() == 0 {
			continue
		}
		if err := a.CatchUp(ctx, name); err != nil {
			a.Log().Warn("inbox", "context", name, "err", err)
		}
	}
}

// ageOutputs removes what is old or too much of the outputs that contexts keep.
func (a *App) ageOutputs(ctx context.Context) {
	h, err := a.Home()
	if err != nil {
		return
	}
	names, _, err := h.List()
	if err != nil {
		return // doctor says what is wrong with the folder
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		switch n, err := h.Folder(name).AgeOutput(a.Now()); {
		case err != nil:
			a.Log().Warn("old outputs", "context", name, "err", err)
		case n > 0:
			a.Log().Info("old outputs removed", "context", name, "files", n)
		}
	}
}

// works says whether somebody will work what an agent of this home is given:
// its process, or the hub, which starts those that have an [[agents]] entry.
func (own *Owned) works(_ context.Context, a fika.Agent) error {
	home, err := own.Folder.Home.ID()
	if err != nil || a.HomeID != home {
		return err // nobody here can know
	}
	state, err := own.Folder.Home.Folder(a.Name).Inspect()
	if err == nil && state.Held && state.Info.Kind == folder.LockAgent {
		return nil
	}
	c, err := own.App.Config()
	if err != nil {
		return err
	}
	entry := c.Agent(a.Name)
	switch {
	case entry == nil:
		return fika.Errorf(fika.Invalid, "delegate", "not delegated: %s is a context without an agent, and nobody would start it. Give the task to one of the agents, or to the sub-agent tool if you have it; a person makes it an agent with an [[agents]] entry", a.Name)
	case a.Desired.Stopped():
		return fika.Errorf(fika.Invalid, "delegate", "not delegated: %s was stopped by hand and stays so until a person starts it (fika agent start %s)", a.Name, a.Name)
	case !entry.Wake && !entry.AutoStart:
		return fika.Errorf(fika.Invalid, "delegate", "not delegated: %s does not run, and nobody starts it for a task (wake = false)", a.Name)
	}
	return nil
}
