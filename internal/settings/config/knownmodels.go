package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/llm/catalog"
)

// KnownUpdate says what the table of known models became.
type KnownUpdate struct {
	Path     string
	Was, Now *catalog.Table
	Changed  bool
}

// ReplaceKnownModels puts the file from in the place of the table of known models, as a
// whole or not at all. If from is empty, the table that fika comes with is in force again.
// Error kinds: NotFound, Invalid with the place of the mistake.
func (l Layers) ReplaceKnownModels(from string) (KnownUpdate, error) {
	const op = "update models"
	done := KnownUpdate{Path: l.KnownModels(), Was: catalog.Shipped(), Now: catalog.Shipped()}
	before, replaced, err := readFile(done.Path)
	if err != nil {
		return done, err
	}
	if was, err := catalog.Parse(before); err == nil {
		done.Was = was
	}
	if from == "" {
		if err := os.Remove(done.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, fika.Wrap(fika.Storage, op, err)
		}
		done.Changed = replaced
		return done, nil
	}
	data, exists, err := readFile(from)
	switch {
	case err != nil:
		return done, err
	case !exists:
		return done, fika.Errorf(fika.NotFound, "", "file %q not found", from)
	}
	if done.Now, err = catalog.Parse(data); err != nil {
		return done, fika.Errorf(fika.Invalid, "", "%s: %v; nothing was changed", from, err)
	}
	if done.Changed = !replaced || !bytes.Equal(data, before); !done.Changed {
		return done, nil
	}
	return done, fika.Wrap(fika.Storage, op, renameio.WriteFile(done.Path, data, 0o600))
}
