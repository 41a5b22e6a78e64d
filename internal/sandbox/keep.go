package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"fika"
)

const (
	keptFile  = 1 << 20 // bytes of a protected file that can be restored
	keptFiles = 1000    // files below one protected path
)

// Keeper remembers what protected paths were before a call, so that what the call changed
// in spite of the tier can be undone after it. A Keeper belongs to one call; the caller
// must Close it.
type Keeper struct {
	remembered
	record string // file with the same content, for [UndoKilled]; empty if there is none
}

// remembered is what a Keeper knows, as its record stores it.
type remembered struct {
	Aside string // folder for what is moved out of the way
	Root  string // folder below which a moved repository is looked for
	Kept  []kept
	Repos []repository
}

// kept is one protected path: its content, by name below the path. A single file has the
// name "".
type kept struct {
	Path   string
	Files  map[string]content
	Opened bool `json:",omitempty"` // the call may change it, and its caller checks it afterwards
}

type content struct {
	Mode fs.FileMode
	Data []byte `json:",omitempty"`
	Link string `json:",omitempty"`

	stamp   Stamp // taken just before the file was read
	settled bool  // its last change is old enough that another one would have another time
}

// repository is a .git that has to stay where and what it is.
type repository struct {
	Path string
	ID   identity
	open *os.File // the folder or file itself, wherever it is moved; nil when read from a record
}

// identity distinguishes a file from all others while it exists.
type identity struct{ Device, Inode uint64 }

// KeepProtected remembers the protected paths of p, and the .git of its workspace, as far
// as the tier does not prevent a call from changing them. What is moved out of the way
// later goes into the folder aside. A record lies in the folder calls until Close: if
// this process is killed, [UndoKilled] uses it to undo what the call changed. If calls is
// empty, there is no record.
func (s *Sandbox) KeepProtected(p Profile, aside, calls string) (*Keeper, error) {
	k := &Keeper{remembered: remembered{Aside: aside, Root: p.Workspace}}
	for i, path := range slices.Concat(p.Protected, p.Opened) {
		opened := i >= len(p.Protected)
		info, err := os.Lstat(path)
		if s.Tier() == Full && !opened && err == nil && info.Mode()&fs.ModeSymlink == 0 {
			continue // it is mounted read-only
		}
		files := map[string]content{}
		if err == nil {
			files, err = readKept(path, s.lastSeen(path))
			s.seen.Store(path, files)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			k.Close()
			return nil, fika.Wrap(fika.Denied, "protect "+path, err)
		}
		k.Kept = append(k.Kept, kept{path, files, opened})
	}
	if info, err := os.Lstat(p.Repository); p.Repository != "" && err == nil {
		f, err := os.Open(p.Repository)
		if err != nil {
			k.Close()
			return nil, fika.Wrap(fika.Denied, "protect "+p.Repository, err)
		}
		k.Repos = append(k.Repos, repository{p.Repository, identify(info), f})
	}
	if err := k.write(calls); err != nil {
		k.Close()
		return nil, fika.Wrap(fika.Denied, "protect "+p.Workspace, err)
	}
	return k, nil
}

// Close releases what the Keeper holds, including its record. It may be called twice.
func (k *Keeper) Close() {
	for _, r := range k.Repos {
		if r.open != nil {
			r.open.Close()
		}
	}
	k.Repos = nil
	if k.record != "" {
		_ = os.Remove(k.record)
		k.record = ""
	}
}

// Restore puts back what has changed and returns a line about each change. What it
// replaces is moved into the folder aside. The error, in addition to the lines, says what
// could not be put back.
func (k *Keeper) Restore() (changes []string, err error) {
	for _, r := range k.Repos { // first, because protected paths lie below
		line, failed := k.restoreRepository(r)
		if line != "" {
			changes = append(changes, line)
		}
		err = errors.Join(err, failed)
	}
	for _, was := range k.Kept {
		if was.Opened || len(was.Files) == 0 && missing(was.Path) {
			continue
		}
		now, failed := readKept(was.Path, was.Files)
		if failed == nil && same(was.Files, now) {
			continue
		}
		aside, failed := k.replace(was)
		err = errors.Join(err, failed)
		line := was.Path + " is protected: what changed it was undone"
		if aside != "" {
			line += ", and what was there is kept in " + aside
		}
		changes = append(changes, line)
	}
	return changes, err
}

// Before returns what a file that is open for the call was before it; false if there was
// no such file.
func (k *Keeper) Before(path string) (data []byte, mode fs.FileMode, ok bool) {
	for _, was := range k.Kept {
		if c, found := was.Files[""]; found && was.Path == path && c.Mode.IsRegular() {
			return c.Data, c.Mode, true
		}
	}
	return nil, 0, false
}

// PutBack restores a file that is open for the call to what it was.
func (k *Keeper) PutBack(path string) (aside string, err error) {
	for _, was := range k.Kept {
		if was.Path == path {
			return k.replace(was)
		}
	}
	return "", nil
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// restoreRepository sets aside a .git that is not the recorded one, and moves the
// recorded one back from wherever it is.
func (k *Keeper) restoreRepository(r repository) (string, error) {
	now, err := os.Lstat(r.Path)
	if err == nil && identify(now) == r.ID {
		return "", nil
	}
	line := r.Path + " was taken away"
	if err == nil {
		aside, err := SetAside(k.Aside, r.Path)
		if err != nil {
			return "", err
		}
		line = r.Path + " was replaced: the new one was set aside in " + aside
	}
	moved, err := k.moved(r)
	if err != nil {
		return line, fmt.Errorf("%s is gone: %w", r.Path, err)
	}
	return line + " and the old one moved back from " + moved, os.Rename(moved, r.Path)
}

// SetAside moves what is at path into a new folder below aside, or beside it if that is
// on another disk, and returns the folder.
func SetAside(aside, path string) (string, error) {
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(aside, strings.TrimLeft(filepath.Base(path), ".")+"-")
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, filepath.Base(path))
	if err = os.Rename(path, to); errors.Is(err, syscall.EXDEV) { // another disk: beside it, under a name that nothing reads
		to = path + ".set-aside-" + filepath.Base(dir)
		err = os.Rename(path, to)
	}
	return filepath.Dir(to), err
}

// replace restores a protected path to what it was, and returns the folder to which what
// was there has been moved.
func (k *Keeper) replace(was kept) (aside string, err error) {
	if !missing(was.Path) {
		if aside, err = SetAside(k.Aside, was.Path); err != nil {
			return "", err
		}
	}
	var errs []error
	for name, c := range was.Files { // folders are created on the way
		path := filepath.Join(was.Path, name)
		switch {
		case c.Mode.IsDir():
			errs = append(errs, os.MkdirAll(path, c.Mode.Perm()))
		case c.Link != "":
			errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(c.Link, path))
		default:
			errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, c.Data, c.Mode.Perm()), os.Chmod(path, c.Mode.Perm()))
		}
	}
	return aside, errors.Join(errs...)
}

// lastSeen returns what an earlier call has read of a protected path.
func (s *Sandbox) lastSeen(path string) map[string]content {
	files, _ := s.seen.Load(path)
	known, _ := files.(map[string]content)
	return known
}

// readKept reads a protected path; the map is empty if there is nothing. Files that have
// not been touched since they were read into known are not read again.
func readKept(root string, known map[string]content) (map[string]content, error) {
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
		name := strings.TrimPrefix(path, root)
		c := content{Mode: info.Mode()}
		c.stamp, c.settled = StampOf(info)
		if before, ok := known[name]; ok && before.settled && c.stamp == before.stamp {
			out[name] = before
			return nil
		}
		switch {
		case info.Mode().IsRegular() && info.Size() > keptFile:
			return fmt.Errorf("%s is larger than %d bytes", path, keptFile)
		case info.Mode().IsRegular():
			c.Data, err = os.ReadFile(path)
		case info.Mode()&fs.ModeSymlink != 0:
			c.Link, err = os.Readlink(path)
		}
		out[name] = c
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
		if !ok || x.Mode != y.Mode || x.Link != y.Link || !bytes.Equal(x.Data, y.Data) {
			return false
		}
	}
	return true
}
