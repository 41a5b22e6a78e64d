package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

// Store is what an archive needs of the database.
type Store interface {
	NextOld(ctx context.Context, kind store.Kept, before time.Time, from store.Place) (store.Batch, store.Place, error)
	CountOldUsage(ctx context.Context, before time.Time) (int, error)
	Remove(ctx context.Context, b store.Batch, archive string) error
	Removed(context.Context) ([]string, error)
	Settle(ctx context.Context, archive string) error
	PutBack(ctx context.Context, refers, list []store.TableRows) (int, error)
}

// Keep says how long rows of each kind stay; a kind that is missing, or 0, stays for ever.
type Keep map[store.Kept]time.Duration

// Any reports whether anything is ever archived.
func (k Keep) Any() bool {
	for _, d := range k {
		if d > 0 {
			return true
		}
	}
	return false
}

// Archive is the folder of archives of one home.
type Archive struct {
	dir   string
	store Store
	now   func() time.Time
	// step is called between the steps of writing an archive; nil outside tests.
	step func(string) error
}

// In returns the archives of a home; the folder is made when it is needed.
func In(home string, s Store, now func() time.Time) *Archive {
	return &Archive{dir: filepath.Join(home, "archive"), store: s, now: now}
}

// Done is what was archived of one kind, or would be.
type Done struct {
	Kind     store.Kept
	Rows     int
	Archives int
	Agents   []fika.AgentName // whose contexts entries were removed from
}

// Run archives what is older than keep says, in at most most archives (0: all), and calls
// told after each. It first finishes what an earlier run was interrupted in. What it has
// done is returned with an error, too.
func (a *Archive) Run(ctx context.Context, keep Keep, most int, told func(Done)) (list []Done, err error) {
	if err := a.recover(ctx); err != nil {
		return nil, err
	}
	if most == 0 {
		most = math.MaxInt
	}
	for _, kind := range store.KeptKinds() {
		if keep[kind] <= 0 {
			continue
		}
		d, err := a.kind(ctx, kind, a.now().Add(-keep[kind]), &most, told)
		if d.Archives > 0 {
			list = append(list, d)
		}
		if err != nil || most == 0 {
			return list, err
		}
	}
	return list, nil
}

// kind archives what is older than a time. most is how many archives may be made, and is counted down.
func (a *Archive) kind(ctx context.Context, kind store.Kept, before time.Time, most *int, told func(Done)) (d Done, err error) {
	d.Kind = kind
	for place := (store.Place{}); ; {
		if err := ctx.Err(); err != nil {
			return d, fika.Wrap(fika.Interrupted, "archive", err)
		}
		b, next, err := a.store.NextOld(ctx, kind, before, place)
		if err != nil || len(b.Tables) == 0 {
			return d, err
		}
		place = next
		err = a.keepBatch(ctx, b)
		if fika.IsKind(err, fika.Conflict) || fika.IsKind(err, fika.NotFound) {
			if kind == store.KeptUsage {
				return d, err // the same rows would come again
			}
			continue // they have changed meanwhile; a later run looks again
		}
		if err != nil {
			return d, err
		}
		d.Rows, d.Archives = d.Rows+b.Count(), d.Archives+1
		if b.Agent != "" && !slices.Contains(d.Agents, b.Agent) {
			d.Agents = append(d.Agents, b.Agent)
		}
		if told != nil {
			told(d)
		}
		if *most--; *most == 0 {
			return d, nil
		}
	}
}

// Due counts what Run would archive. It changes nothing.
func (a *Archive) Due(ctx context.Context, keep Keep) (list []Done, err error) {
	for _, kind := range store.KeptKinds() {
		if keep[kind] <= 0 {
			continue
		}
		before, d := a.now().Add(-keep[kind]), Done{Kind: kind}
		if kind == store.KeptUsage {
			if d.Rows, err = a.store.CountOldUsage(ctx, before); err != nil {
				return list, err
			}
			list = append(list, d)
			continue
		}
		for place := (store.Place{}); ; {
			b, next, err := a.store.NextOld(ctx, kind, before, place)
			if err != nil {
				return list, err
			}
			if len(b.Tables) == 0 {
				break
			}
			place, d.Rows, d.Archives = next, d.Rows+b.Count(), d.Archives+1
		}
		list = append(list, d)
	}
	return list, nil
}

// slack is how long something may be due before [Archive.IsDue] says so.
const slack = 48 * time.Hour

// IsDue reports whether anything should have been archived two days ago.
func (a *Archive) IsDue(ctx context.Context, keep Keep) (bool, error) {
	for kind, d := range keep {
		if d <= 0 {
			continue
		}
		b, _, err := a.store.NextOld(ctx, kind, a.now().Add(-d-slack), store.Place{})
		if err != nil || len(b.Tables) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

const fresh = ".new"

// keepBatch writes the files of a batch, removes its rows, and puts the files in place.
func (a *Archive) keepBatch(ctx context.Context, b store.Batch) error {
	data, text := encode(b), describe(b)
	name := nameOf(b, data)
	path := filepath.Join(a.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return storage(err)
	}
	for suffix, content := range map[string][]byte{".md": text, ".jsonl": data} {
		if err := writeSynced(path+suffix+fresh, content); err != nil {
			return storage(errors.Join(err, removeFresh(path)))
		}
	}
	if err := syncDirs(filepath.Dir(path), a.dir); err != nil {
		return storage(errors.Join(err, removeFresh(path)))
	}
	if err := a.at("written"); err != nil {
		return err
	}
	if err := a.store.Remove(ctx, b, name); err != nil {
		if fika.IsKind(err, fika.Conflict) || fika.IsKind(err, fika.NotFound) {
			_ = removeFresh(path) // the next run removes what is left of them
		}
		return err
	}
	if err := a.at("removed"); err != nil {
		return err
	}
	return a.settle(ctx, name)
}

func (a *Archive) at(step string) error {
	if a.step == nil {
		return nil
	}
	return a.step(step)
}

// settle gives the files of an archive whose rows are gone their names.
func (a *Archive) settle(ctx context.Context, name string) error {
	path := filepath.Join(a.dir, name)
	for _, suffix := range []string{".md", ".jsonl"} {
		err := os.Rename(path+suffix+fresh, path+suffix)
		if errors.Is(err, fs.ErrNotExist) {
			_, err = os.Lstat(path + suffix)
		}
		if errors.Is(err, fs.ErrNotExist) && suffix == ".jsonl" {
			return fika.Errorf(fika.Storage, "archive", "%s is missing, and its rows are no longer in the database: put it back", path+suffix)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return storage(err)
		}
	}
	if err := syncDirs(filepath.Dir(path)); err != nil {
		return storage(err)
	}
	if err := a.at("placed"); err != nil {
		return err
	}
	return a.store.Settle(ctx, name)
}

// recover finishes the archives whose rows are gone, and removes those whose rows are not.
func (a *Archive) recover(ctx context.Context) error {
	removed, err := a.store.Removed(ctx)
	if err != nil {
		return err
	}
	for _, name := range removed {
		if err := a.settle(ctx, name); err != nil {
			return err
		}
	}
	err = filepath.WalkDir(a.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, fresh) {
			return err
		}
		return os.Remove(path)
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return storage(err)
}

func removeFresh(path string) error {
	var errs []error
	for _, suffix := range []string{".md", ".jsonl"} {
		if err := os.Remove(path + suffix + fresh); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func storage(err error) error { return fika.Wrap(fika.Storage, "archive", err) }

// writeSynced writes a new file, and waits for the disk.
func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDirs makes the names of files in folders, and of the folders, durable.
func syncDirs(from string, upto ...string) error {
	for {
		d, err := os.Open(from)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
		if len(upto) == 0 || from == filepath.Dir(upto[0]) || from == filepath.Dir(from) {
			return nil
		}
		from = filepath.Dir(from)
	}
}

// failedName is the file that says why the last run failed.
const failedName = "failed.txt"

// NoteFailure records the result of a run where [Failure] finds it.
func (a *Archive) NoteFailure(err error) {
	path := filepath.Join(a.dir, failedName)
	if err == nil {
		_ = os.Remove(path)
		return
	}
	_ = os.MkdirAll(a.dir, 0o700)
	_ = os.WriteFile(path, fmt.Appendf(nil, "%s: %v\n", a.now().UTC().Format(time.RFC3339), err), 0o600)
}

// Failure returns why the last run in a home failed; empty: it did not.
func Failure(home string) string {
	data, err := os.ReadFile(filepath.Join(home, "archive", failedName))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
