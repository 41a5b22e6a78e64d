package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/crash"
)

// Database is the store of the home, opened on first use.
type Database struct {
	opts    Options
	home    *OpenedHome
	config  *Configuration
	closers *closers
	store   *store.Store
	stays   bool
	patient func(why string)
}

// StayOpen makes the store, which is not open yet, show others on its server that this
// process uses it.
func (d *Database) StayOpen() { d.stays = true }

// WaitForOthers makes opening the store wait, where it needs a migration, until nobody else
// uses it. told is called with the reason, again whenever that changes.
func (d *Database) WaitForOthers(told func(why string)) { d.patient = told }

// Store opens the database.
func (d *Database) Store(ctx context.Context) (*store.Store, error) {
	if d.store != nil {
		return d.store, nil
	}
	h, c, err := d.config.HomeAndConfig()
	if err != nil {
		return nil, err
	}
	o := d.StoreOptions(h, c.Store.URL)
	if d.home.readOnly && o.URL == "" {
		if o.Path, err = d.copyDatabase(h.DatabaseFile()); err != nil {
			return nil, err
		}
	}
	o.Looks, o.Stays = d.opts.Looks && !d.home.readOnly, d.stays
	o.Patient = d.patient
	s, err := store.Open(ctx, o)
	if errors.Is(err, store.ErrNone) {
		return d.openNothing(ctx, cmp.Or(config.WithoutSecrets(o.URL), o.Path))
	}
	if err != nil {
		return nil, err
	}
	if err := d.NoteStore(ctx, h, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	// Where no hub runs, nobody else does it. What fails here fails again where it matters.
	_ = s.Prune(ctx, 1)
	d.store = s
	d.closers.add(s)
	return s, nil
}

// openNothing opens an empty database, which is removed when the app is closed, for a
// command that looks at a home that has none yet.
func (d *Database) openNothing(ctx context.Context, as string) (*store.Store, error) {
	dir, err := os.MkdirTemp("", "fika-read-")
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "open store", err)
	}
	d.closers.add(removed(dir))
	if d.store, err = store.Open(ctx, store.Options{Path: filepath.Join(dir, "fika.db"), As: as, Now: d.opts.Now}); err != nil {
		return nil, err
	}
	d.closers.add(d.store)
	return d.store, nil
}

// StoreOptions returns the options for opening a home's database.
func (d *Database) StoreOptions(h folder.Home, url string) store.Options {
	// A database that existed before is never silently created anew.
	_, err := os.Stat(h.StoreFile())
	o := store.Options{Existing: err == nil}
	if url != "" {
		o.URL = url
		if !d.home.readOnly { // without it, a living lease elsewhere is left alone
			o.Site.Home, o.Site.Copy, _ = h.Site()
		}
		o.Offset = func() time.Duration { return time.Until(d.opts.Now()) - crash.Skew() }
		return o
	}
	o.Path, o.Now, o.MaxPages = h.DatabaseFile(), d.opts.Now, crash.Pages()
	return o
}

// NoteStore records, in a file beside the database, that there is one.
func (d *Database) NoteStore(ctx context.Context, h folder.Home, s *store.Store) error {
	path := h.StoreFile()
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m, err := s.Meta(ctx)
	if err != nil {
		return err
	}
	return fika.Wrap(fika.Storage, "note the store", renameio.WriteFile(path, []byte(m.StoreID+"\n"), 0o600))
}
