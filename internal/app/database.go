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

// StoreOptions say which database a home has.
func (a *App) StoreOptions(h folder.Home, url string) store.Options {
	// What a home had is never begun anew without a word.
	_, err := os.Stat(h.StoreFile())
	o := store.Options{Existing: err == nil}
	if url != "" {
		o.URL = url
		o.Offset = func() time.Duration { return time.Until(a.opts.Now()) }
		return o
	}
	o.Path, o.Now, o.MaxPages = h.DatabaseFile(), a.opts.Now, crash.Pages()
	return o
}

// NoteStore keeps, beside the database, that there is one.
func (a *App) NoteStore(ctx context.Context, h folder.Home, s *store.Store) error {
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
