package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/store/archive"
)

// Shrunk is what [Shrink] has done, or would do.
type Shrunk struct {
	Done          []archive.Done
	Before, After int64 // bytes of the database
}

// Due returns what [Shrink] would archive. It changes nothing.
func Due(ctx context.Context, a *app.App) (out Shrunk, err error) {
	s, err := a.Store(ctx)
	if err != nil {
		return out, err
	}
	old, keep, err := a.OldRows(s)
	if err != nil {
		return out, err
	}
	if out.Before, err = sizeOf(ctx, s); err != nil {
		return out, err
	}
	out.After = out.Before
	out.Done, err = old.Due(ctx, keep)
	return out, err
}

// Shrink archives everything that is older than the settings keep it, and gives its space
// back. The hub must be down and no agent at work. It refuses a disk without room for a
// copy of the database. told is called after each archive.
func Shrink(ctx context.Context, a *app.App, told func(archive.Done)) (out Shrunk, err error) {
	s, release, err := alone(ctx, a)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, release()) }()
	old, keep, err := a.OldRows(s)
	if err != nil {
		return out, err
	}
	if out.Before, err = sizeOf(ctx, s); err != nil {
		return out, err
	}
	out.After = out.Before
	if err := enoughRoom(s.Room()); err != nil {
		return out, err
	}
	out.Done, err = old.Run(ctx, keep, 0, told)
	old.NoteFailure(err)
	if err != nil {
		return out, err
	}
	if err := s.Shrink(ctx); err != nil {
		return out, err
	}
	out.After, err = sizeOf(ctx, s)
	return out, err
}

// alone opens the store of a home in which nobody else is at work.
func alone(ctx context.Context, a *app.App) (s *store.Store, release func() error, err error) {
	h, err := a.Home()
	if err != nil {
		return nil, nil, err
	}
	lock, err := h.LockHub()
	if err != nil {
		return nil, nil, err
	}
	contexts, err := lockContexts(ctx, h)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	release = func() error { contexts(); return lock.Close() }
	if s, err = a.Store(ctx); err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return s, release, nil
}

// spareRoom is how much must be free beside what shrinking takes.
const spareRoom = 32 << 20

// enoughRoom refuses a disk on which a database cannot be shrunk: it is written anew into
// its log, and into a temporary file.
func enoughRoom(r store.Room) error {
	if r.Bytes == 0 {
		return nil
	}
	for dir, need := range map[string]int64{filepath.Dir(r.Path): r.Bytes + spareRoom, os.TempDir(): r.Bytes + spareRoom} {
		if free, _, ok := folder.FreeSpace(dir); ok && free < need {
			return fika.Errorf(fika.Storage, "shrink store", "shrinking %s takes %d MiB on the disk of %s, and %d MiB are free; nothing was changed", r.Path, need>>20, dir, free>>20)
		}
	}
	return nil
}

func sizeOf(ctx context.Context, s *store.Store) (int64, error) {
	if r := s.Room(); r.Bytes > 0 {
		return r.Bytes, nil
	}
	m, err := s.Meta(ctx)
	return m.Bytes, err
}

// ImportArchives stores the rows of archives again; see [archive.Archive.Import].
func ImportArchives(ctx context.Context, a *app.App, path string, told func(file string, rows int)) (archive.Imported, error) {
	s, err := a.Store(ctx)
	if err != nil {
		return archive.Imported{}, err
	}
	old, _, err := a.OldRows(s)
	if err != nil {
		return archive.Imported{}, err
	}
	return old.Import(ctx, path, told)
}
