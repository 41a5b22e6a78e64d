package worker

import (
	"context"
	"errors"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/folder"
)

// CatchUp stores what other programs left in the inbox of a context, and brings the
// context's files up to date with the store. It does nothing while another process
// holds the context, because that process does it itself. An agent without a row gets
// one.
func CatchUp(ctx context.Context, a *app.App, name fika.AgentName) (err error) {
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
	src := EntrySource{Store: s, Agent: name}
	if foreign, err := f.Adoptable(ctx, src); err != nil || foreign {
		return err // the first worker of the context imports it
	}
	lock, err := folder.TryLock(ctx, f, folder.LockOptions{Kind: folder.LockMirror})
	if fika.IsKind(err, fika.Locked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	in := &inbox{folder: f, lock: lock, delivery: delivery{app: a, store: s, to: row.ID}, warn: func(string) {}}
	if err := in.drain(ctx); err != nil {
		return err
	}
	_, err = folder.OpenMirror(ctx, lock, src)
	return err
}
