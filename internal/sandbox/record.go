package sandbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// records matches the records in a folder of calls.
const records = "call-*.json"

// maxSearched bounds how many files are looked at when searching for a repository that a
// call of a killed process has moved.
const maxSearched = 100_000

// write stores the record in the folder calls. It is not synced: a power failure kills
// the call as well, and what the call wrote a moment before is just as likely to be lost.
func (k *Keeper) write(calls string) error {
	if calls == "" || len(k.Kept)+len(k.Repos) == 0 {
		return nil
	}
	data, err := json.Marshal(k.remembered)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(calls, records)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(calls, 0o700); err == nil {
			f, err = os.CreateTemp(calls, records)
		}
	}
	if err != nil {
		return err
	}
	k.record = f.Name()
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// UndoKilled undoes what calls changed whose process was killed before it could check, as
// [Keeper.Restore] does, and returns a line about each change. No call with a record in
// the folder may be running.
func UndoKilled(calls string) (changes []string, err error) {
	found, _ := filepath.Glob(filepath.Join(calls, records))
	for _, path := range found {
		data, failed := os.ReadFile(path)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		k := Keeper{record: path}
		if json.Unmarshal(data, &k.remembered) != nil {
			k.Close() // killed while it was written: the call had not begun
			continue
		}
		for i := range k.Kept { // nobody can check any more what the call was allowed to change
			k.Kept[i].Opened = false
		}
		lines, failed := k.Restore()
		changes, err = append(changes, lines...), errors.Join(err, failed)
		k.Close()
	}
	return changes, err
}

// moved returns where a repository lies now.
func (k *Keeper) moved(r repository) (string, error) {
	if r.open != nil {
		return whereIs(r.open)
	}
	at, left := "", maxSearched
	_ = filepath.WalkDir(k.Root, func(path string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && identify(info) == r.ID {
			at = path
			return fs.SkipAll
		}
		return nil
	})
	if at == "" {
		return "", os.ErrNotExist
	}
	return at, nil
}
