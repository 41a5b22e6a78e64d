package backup

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/store"
)

// MoveStore copies the database of this home to another place, a URL as in [store] url
// or the path of a file, compares the two, and marks the old one as moved. The hub must
// be down and no agent at work. A database in the other place that was moved from there is
// set aside; its new name is returned, else "". One that was interrupted goes on, and one
// that is complete is complete.
func MoveStore(ctx context.Context, a *app.App, to string, told func(store.Copied)) (aside string, err error) {
	h, err := a.Home()
	if err != nil {
		return "", err
	}
	lock, err := h.LockHub()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	release, err := lockContexts(ctx, h)
	if err != nil {
		return "", err
	}
	defer release()
	o := store.Options{URL: to}
	if !strings.Contains(to, "://") {
		path, err := filepath.Abs(to)
		if err != nil {
			return "", fika.Wrap(fika.Invalid, "move store", err)
		}
		o = store.Options{Path: path}
	}
	_, c, err := a.HomeAndConfig()
	if err != nil {
		return "", err
	}
	if moved, err := store.FinishMove(ctx, a.StoreOptions(h, c.Store.URL), o); moved || err != nil {
		return "", err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return "", err
	}
	if aside, err = store.SetMovedAside(ctx, o, asideName("moved", a.Now())); err != nil {
		return "", err
	}
	o.Unfinished = true
	other, err := store.Open(ctx, o)
	if err != nil {
		return aside, err
	}
	err = s.MoveTo(ctx, other, told)
	return aside, errors.Join(err, other.Close())
}

// CheckStore reads the whole database and lists the damage it finds.
func CheckStore(ctx context.Context, a *app.App) ([]string, error) {
	s, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	return s.Check(ctx)
}

// StoreMeta describes the database of this home.
func StoreMeta(ctx context.Context, a *app.App) (store.Meta, error) {
	s, err := a.Store(ctx)
	if err != nil {
		return store.Meta{}, err
	}
	return s.Meta(ctx)
}
