package undo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fika"
)

// How much is kept, and for how long.
const (
	keptAge  = 30 * 24 * time.Hour
	keptSize = 1 << 30
	// keptRest is how long a content stays without a turn that names it, because one
	// may be about to, and how long a turn is safe from removal for size.
	keptRest = time.Hour
)

// Prune removes turns to which nothing was added for thirty days, older turns while
// the total exceeds a gibibyte (but none of the last hour), and contents that no turn
// needs any more. It returns the number of turns removed.
func (l *Log) Prune() (removed int, err error) { return l.prune(keptSize) }

func (l *Log) prune(most int64) (removed int, err error) {
	ids, err := l.Requests()
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	sizes := l.objects()
	needed := map[string]bool{}
	var size int64
	var errs []error
	for _, id := range ids {
		t, err := l.ReadTurn(id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var grows int64
		names := t.hashes()
		for _, h := range names {
			if !needed[h] {
				grows += sizes[h].size
			}
		}
		age := l.now().Sub(t.Last)
		if age > keptAge || size+grows > most && age > keptRest {
			if err := os.Remove(l.turnFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fika.Wrap(fika.Storage, "undo", err))
				continue
			}
			removed++
			continue
		}
		size += grows
		for _, h := range names {
			needed[h] = true
		}
	}
	if len(errs) > 0 { // a turn that cannot be read may need any content
		return removed, errors.Join(errs...)
	}
	for hash, o := range sizes {
		if !needed[hash] && l.now().Sub(o.at) > keptRest {
			if err := os.Remove(o.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fika.Wrap(fika.Storage, "undo", err))
			}
		}
	}
	return removed, errors.Join(errs...)
}

// hashes returns the hashes of the contents that a turn needs.
func (t Turn) hashes() []string {
	var out []string
	add := func(h string) {
		if h != Absent && h != "" && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	for _, e := range t.Edits {
		add(e.Before)
	}
	for _, op := range t.operations {
		for _, f := range op.Files {
			add(f.From)
			add(f.To)
		}
	}
	return out
}

type object struct {
	path string
	size int64
	at   time.Time
}

// objects returns all contents, including those that a crash left unfinished.
func (l *Log) objects() map[string]object {
	out := map[string]object{}
	_ = filepath.WalkDir(filepath.Join(l.dir, "objects"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			out[d.Name()] = object{path, info.Size(), info.ModTime()}
		}
		return nil
	})
	return out
}
