package backup

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// Restored describes what [Restore] did.
type Restored struct {
	Aside []string // new names of what was replaced
	Files int      // files of the home written from the backup
	// Schema is the schema that the home has now, because the one that its settings named
	// belongs to another home; else empty.
	Schema string
}

// Restore restores the content of a backup. With empty it begins a new database
// instead, and opening a context then brings back what its folder holds. The hub must
// be down and no agent at work. Existing data is set aside, never deleted, and an
// earlier owner cannot write to what was restored.
//
// A home that has a database keeps it where it is. A schema that is not this home's own
// is never replaced: the home gets one beside it.
func Restore(ctx context.Context, a *app.App, path string, empty bool) (_ Restored, err error) {
	const op = "restore"
	var out Restored
	h, err := a.Home()
	if err != nil {
		return out, err
	}
	lock, err := h.LockHub()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	release, err := lockContexts(ctx, h)
	if err != nil {
		return out, err
	}
	defer release()
	work, err := os.MkdirTemp(h.Root, ".fika-restore-")
	if err != nil {
		return out, &fika.Error{Kind: fika.Storage, Op: op, Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	database := filepath.Join(work, storeInBackup)
	if empty {
		database = ""
	} else if err := unpackStore(ctx, path, database); err != nil {
		return out, err // a damaged database must be found before anything moves
	}
	place, err := placeOf(ctx, a, h, path, database, asideName("before_restore", a.Now()))
	if err != nil {
		return out, err
	}
	if !empty {
		if out.Files, err = unpackHome(path, h.Root, place.Suffix, &out.Aside); err != nil {
			return out, err
		}
		// An empty database is filled again from the mirrors.
		if err := setMirrorsAside(h, place.Suffix, &out.Aside); err != nil {
			return out, err
		}
	}
	if err := place.settle(a, h); err != nil {
		return out, err
	}
	if place.Anew {
		out.Schema = place.schema
	}
	return out, place.replaceStore(ctx, a, h, &out.Aside)
}

// place is where the database of the restored home will be.
type place struct {
	store.Replacement // for a file, only Suffix and File are used
	schema            string
}

// placeOf determines where the database goes: where this home has its own, or else where
// the settings in the backup say.
func placeOf(ctx context.Context, a *app.App, h folder.Home, backup, database, suffix string) (place, error) {
	p := place{Replacement: store.Replacement{Suffix: suffix, File: database}}
	noted, _ := os.ReadFile(h.StoreFile()) // missing: this home has had no database
	p.Store = strings.TrimSpace(string(noted))
	c, err := a.LoadConfig()
	if err == nil {
		p.URL = c.Store.URL
	}
	if database != "" && (err != nil || p.URL == "" && p.Store == "") {
		p.URL, err = urlInBackup(backup, filepath.Dir(database))
	}
	if err != nil {
		return p, err
	}
	if p.URL == "" {
		return p, nil
	}
	if p.Store != "" { // else no schema is its own, and it may not have an id yet
		if p.Home, err = h.ID(); err != nil {
			return p, err
		}
	}
	foreign, err := p.MayReplace(ctx)
	if err != nil || !foreign {
		return p, err
	}
	p.Anew = true
	p.URL, p.schema, err = store.BesideURL(p.URL, "restored_"+strings.TrimPrefix(suffix, "before_restore_"))
	return p, err
}

// urlInBackup returns [store] url of the settings in a backup; work is a folder for them.
func urlInBackup(path, work string) (string, error) {
	const op = "restore"
	z, err := zip.OpenReader(path)
	if err != nil {
		return "", fika.Wrap(fika.Storage, op, err)
	}
	defer z.Close()
	files := []string{"config.toml", "models.toml"}
	for i, name := range files {
		files[i] = filepath.Join(work, name)
		data, err := fs.ReadFile(z, "home/"+name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(files[i], data, 0o600)
		}
		if err != nil {
			return "", fika.Wrap(fika.Storage, op, err)
		}
	}
	c, err := config.Load(files[0], files[1:]...)
	if err != nil {
		return "", fika.Errorf(fika.Invalid, op, "the settings in %s cannot be read, and say where its database goes: %v", path, err)
	}
	return c.Store.URL, nil
}

// settle makes the settings of the home, which may have come from the backup, name the
// place.
func (p place) settle(a *app.App, h folder.Home) error {
	c, err := a.LoadConfig()
	if err != nil || c.Store.URL == p.URL {
		return err
	}
	return config.SetKey(h.ConfigFile(), "store.url", p.URL)
}

// lockContexts locks all contexts, so that no agent is at work.
func lockContexts(ctx context.Context, h folder.Home) (release func(), err error) {
	names, _, err := h.List()
	if err != nil {
		return nil, err
	}
	var held []*folder.Lock
	release = func() {
		for _, l := range held {
			_ = l.Close()
		}
	}
	for _, n := range names {
		l, err := folder.TryLock(ctx, h.Folder(n), folder.LockOptions{Kind: folder.LockCommand})
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, l)
	}
	return release, nil
}

// unpackStore takes the database out of a backup and checks that it is sound.
func unpackStore(ctx context.Context, path, to string) error {
	const op = "restore"
	z, err := zip.OpenReader(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fika.WithHint(fika.Errorf(fika.NotFound, op, "backup %s not found", path), hint.BackupList.With())
	}
	if err != nil {
		return fika.Errorf(fika.Invalid, op, "%s is not a backup of fika's: %v", path, err)
	}
	defer z.Close()
	from, err := z.Open(storeInBackup)
	if err != nil {
		return fika.Errorf(fika.Invalid, op, "%s is not a backup of fika's: there is no %s in it", path, storeInBackup)
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	if _, err = io.Copy(f, from); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return &fika.Error{Kind: fika.Storage, Op: op, Msg: path + " cannot be unpacked: nothing was changed", Err: err}
	}
	s, err := store.Open(ctx, store.Options{Path: to, Existing: true})
	if err != nil {
		return err
	}
	found, err := s.Check(ctx)
	if err == nil && len(found) > 0 {
		err = fika.Errorf(fika.Storage, op, "the database in %s is damaged (%s): nothing was changed; take another backup", path, found[0])
	}
	if err == nil {
		err = s.DisownAll(ctx)
	}
	return errors.Join(err, s.Close())
}

// unpackHome writes the files that people had edited. An existing file that differs is
// set aside.
func unpackHome(path, root, suffix string, aside *[]string) (n int, err error) {
	const op = "restore"
	z, err := zip.OpenReader(path)
	if err != nil {
		return 0, fika.Wrap(fika.Storage, op, err)
	}
	defer z.Close()
	for _, f := range z.File {
		name, ok := strings.CutPrefix(f.Name, "home/")
		if !ok || !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		from, err := f.Open()
		if err != nil {
			return n, fika.Wrap(fika.Storage, op, err)
		}
		data, err := io.ReadAll(io.LimitReader(from, maxBackedUp))
		if err = errors.Join(err, from.Close()); err != nil {
			return n, fika.Wrap(fika.Storage, op, err)
		}
		to := filepath.Join(root, filepath.FromSlash(name))
		have, err := os.ReadFile(to)
		if err == nil && (bytes.Equal(have, data) || bytes.Equal(withoutSecrets(have), data)) {
			continue
		}
		if err == nil {
			if err := os.Rename(to, to+"."+suffix); err != nil {
				return n, fika.Wrap(fika.Storage, op, err)
			}
			*aside = append(*aside, to+"."+suffix)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return n, fika.Wrap(fika.Storage, op, err)
		}
		mode := fs.FileMode(0o600)
		if strings.HasPrefix(name, "plugins/") {
			mode = 0o700
		}
		if err := renameio.WriteFile(to, data, mode); err != nil {
			return n, fika.Wrap(fika.Storage, op, err)
		}
		n++
	}
	return n, nil
}

// setMirrorsAside moves the plain-text mirrors away. They are made again from the
// database and may hold entries that it lacks.
func setMirrorsAside(h folder.Home, suffix string, aside *[]string) error {
	for _, name := range mirrors() {
		if name == "lock" {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(h.ContextsDir(), "*", name))
		for _, path := range found {
			if err := os.Rename(path, path+"."+suffix); err != nil {
				return fika.Wrap(fika.Storage, "restore", err)
			}
			*aside = append(*aside, path+"."+suffix)
		}
	}
	return nil
}

// replaceStore puts the database in the place of the existing one.
func (p place) replaceStore(ctx context.Context, a *app.App, h folder.Home, aside *[]string) error {
	const op = "restore"
	if p.URL == "" {
		for _, end := range []string{"", "-wal", "-shm"} {
			old := h.DatabaseFile() + end
			if err := os.Rename(old, old+"."+p.Suffix); err == nil {
				*aside = append(*aside, old+"."+p.Suffix)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return fika.Wrap(fika.Storage, op, err)
			}
		}
		if p.File != "" {
			if err := os.Rename(p.File, h.DatabaseFile()); err != nil {
				return fika.Wrap(fika.Storage, op, err)
			}
		}
	} else {
		name, err := p.ReplaceRows(ctx)
		if err != nil {
			return err
		}
		if name != "" {
			*aside = append(*aside, "schema "+name)
		}
	}
	o := a.StoreOptions(h, p.URL)
	o.Existing = false
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	_ = os.Remove(h.StoreFile())
	err = a.NoteStore(ctx, h, s)
	if err == nil {
		err = makeFolders(ctx, h, s)
	}
	return errors.Join(err, s.Close())
}

// makeFolders makes the folders of the home's agents that have none: a backup holds only
// those in which a person has edited a file. Their first use fills them.
func makeFolders(ctx context.Context, h folder.Home, s *store.Store) error {
	id, err := h.ID()
	if err != nil {
		return err
	}
	agents, err := s.ListAgents(ctx)
	if err != nil {
		return err
	}
	for _, a := range agents {
		if a.HomeID != id || a.IsPool() {
			continue
		}
		if _, _, err := h.Ensure(a.Name); err != nil {
			return err
		}
	}
	return nil
}
