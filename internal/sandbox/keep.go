package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fika"
)

const (
	keptFile  = 1 << 20 // bytes of a protected file that can be put back
	keptFiles = 1000    // files below one protected path
)

// Keeper remembers what protected paths were before a call, so that what the
// call changed in spite of the tier can be taken back after it. A Keeper
// belongs to one call; Close it.
type Keeper struct {
	aside string // folder for what is taken away
	kept  []kept
	repos []repository
}

// kept is one protected path: what was there, by name below it. A file alone
// has the name "".
type kept struct {
	path  string
	files map[string]content
}

type content struct {
	mode fs.FileMode
	data []byte
	link string
}

// repository is a .git that has to stay where and what it is.
type repository struct {
	path string
	open *os.File // the folder or file itself, wherever it is moved
	info fs.FileInfo
}

// Keep remembers the protected paths of p, and the .git of its workspace, as far
// as the tier does not keep a call from changing them. What is taken away later
// goes into the folder aside.
func Keep(p Profile, aside string, tier Tier) (*Keeper, error) {
	k := &Keeper{aside: aside}
	for _, path := range p.Protected {
		info, err := os.Lstat(path)
		if tier == Full && err == nil && info.Mode()&fs.ModeSymlink == 0 {
			continue // it is mounted so that it cannot be changed
		}
		files := map[string]content{}
		if err == nil {
			files, err = readKept(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			k.Close()
			return nil, fika.Wrap(fika.Denied, "protect "+path, err)
		}
		k.kept = append(k.kept, kept{path, files})
	}
	if info, err := os.Lstat(p.Repository); p.Repository != "" && err == nil {
		f, err := os.Open(p.Repository)
		if err != nil {
			k.Close()
			return nil, fika.Wrap(fika.Denied, "protect "+p.Repository, err)
		}
		k.repos = append(k.repos, repository{p.Repository, f, info})
	}
	return k, nil
}

// Close gives up what Keep holds. It may be called twice.
func (k *Keeper) Close() {
	for _, r := range k.repos {
		r.open.Close()
	}
	k.repos = nil
}

// Restore puts back what has changed and says so, a line each. What was new
// lies in the folder that Keep was given. An error is added to the lines' own:
// something could not be put back.
func (k *Keeper) Restore() (changes []string, err error) {
	for _, r := range k.repos { // first, as protected paths lie below
		line, failed := k.restoreRepository(r)
		if line != "" {
			changes = append(changes, line)
		}
		err = errors.Join(err, failed)
	}
	for _, was := range k.kept {
		if len(was.files) == 0 && missing(was.path) {
			continue
		}
		now, failed := readKept(was.path)
		if failed == nil && same(was.files, now) {
			continue
		}
		aside, failed := k.replace(was)
		err = errors.Join(err, failed)
		line := was.path + " is protected: what changed it was undone"
		if aside != "" {
			line += ", and what was there is kept in " + aside
		}
		changes = append(changes, line)
	}
	return changes, err
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// restoreRepository sets a .git aside that is not the recorded one, and moves
// that back from wherever it was moved to.
func (k *Keeper) restoreRepository(r repository) (string, error) {
	now, err := os.Lstat(r.path)
	if err == nil && os.SameFile(now, r.info) {
		return "", nil
	}
	line := r.path + " was taken away"
	if err == nil {
		aside, err := k.takeAway(r.path)
		if err != nil {
			return "", err
		}
		line = r.path + " was replaced: the new one was set aside in " + aside
	}
	moved, err := whereIs(r.open)
	if err != nil {
		return line, fmt.Errorf("%s is gone: %w", r.path, err)
	}
	return line + " and the old one moved back from " + moved, os.Rename(moved, r.path)
}

// takeAway moves what is at path into a new folder, whose name it returns.
func (k *Keeper) takeAway(path string) (string, error) {
	if err := os.MkdirAll(k.aside, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(k.aside, strings.TrimLeft(filepath.Base(path), ".")+"-")
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, filepath.Base(path))
	if err = os.Rename(path, to); errors.Is(err, syscall.EXDEV) { // another disk: beside it, under a name that nobody obeys
		to = path + ".set-aside-" + filepath.Base(dir)
		err = os.Rename(path, to)
	}
	return filepath.Dir(to), err
}

// replace makes a protected path what it was, and says where what was there is.
func (k *Keeper) replace(was kept) (aside string, err error) {
	if !missing(was.path) {
		if aside, err = k.takeAway(was.path); err != nil {
			return "", err
		}
	}
	var errs []error
	for name, c := range was.files { // folders are made on the way
		path := filepath.Join(was.path, name)
		switch {
		case c.mode.IsDir():
			errs = append(errs, os.MkdirAll(path, c.mode.Perm()))
		case c.link != "":
			errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(c.link, path))
		default:
			errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, c.data, c.mode.Perm()), os.Chmod(path, c.mode.Perm()))
		}
	}
	return aside, errors.Join(errs...)
}

// readKept reads a protected path; nothing at all is an empty map.
func readKept(root string) (map[string]content, error) {
	out := map[string]content{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(out) == keptFiles {
			return fmt.Errorf("more than %d files", keptFiles)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		c := content{mode: info.Mode()}
		switch {
		case info.Mode().IsRegular() && info.Size() > keptFile:
			return fmt.Errorf("%s is larger than %d bytes", path, keptFile)
		case info.Mode().IsRegular():
			c.data, err = os.ReadFile(path)
		case info.Mode()&fs.ModeSymlink != 0:
			c.link, err = os.Readlink(path)
		}
		out[strings.TrimPrefix(path, root)] = c
		return err
	})
	return out, err
}

func same(a, b map[string]content) bool {
	if len(a) != len(b) {
		return false
	}
	for name, x := range a {
		y, ok := b[name]
		if !ok || x.mode != y.mode || x.link != y.link || !bytes.Equal(x.data, y.data) {
			return false
		}
	}
	return true
}
