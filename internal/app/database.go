package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/crash"
	"fika/internal/folder"
	"fika/internal/store"
)

// Database is the store of the home, opened on first use.
type Database struct {
	opts    Options
	home    *OpenedHome
	config  *Configuration
	closers *closers
	store   *store.Store
}

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
	s, err := store.Open(ctx, o)
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

// StoreOptions returns the options for opening a home's database.
func (d *Database) StoreOptions(h folder.Home, url string) store.Options {
	// A database that existed before is never silently created anew.
	_, err := os.Stat(h.StoreFile())
	o := store.Options{Existing: err == nil}
	if url != "" {
		o.URL = url
		o.Offset = func() time.Duration { return time.Until(d.opts.Now()) }
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
