package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/tool"
)

// linkVisits bounds the search for the other names of a file that has several.
const linkVisits = 50_000

// reach checks opened files against a policy, by the path that the system reports for
// them, which no link and no race can change.
type reach struct {
	paths guard.Paths
	homes []FileID // of paths.Homes
	blind bool     // what is hidden may be out of this process's sight, too
}

// FileID identifies a file or folder under whatever name.
type FileID struct{ Dev, Ino uint64 }

// Identify returns the identities of those paths that exist.
func Identify(paths []string) []FileID {
	ids := []FileID{}
	for _, path := range paths {
		if id, ok := identify(path); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func identify(path string) (FileID, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return FileID{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}, false
	}
	return FileID{uint64(st.Dev), uint64(st.Ino)}, true
}

// reach returns the check of a call that changes nothing.
func (o Options) reach() reach { return reach{o.Paths, o.Homes, o.Homes != nil} }

// changing returns the check of a call that changes a file.
func (o Options) changing(c tool.Call) reach {
	r := o.reach()
	if o.Obeyed != nil {
		r.paths.Obeyed = slices.Concat(r.paths.Obeyed, o.Obeyed(c.Workspace))
	}
	return r
}

// refuseHidden refuses an open file that is hidden under this name or under another (a
// hard link).
func (r reach) refuseHidden(path string, f *os.File, info fs.FileInfo) error {
	real, err := realPath(f)
	if err != nil {
		return explain(path, err)
	}
	if err := r.paths.Look(real); err != nil {
		return err
	}
	if err := r.mounted(filepath.Dir(real)); err != nil {
		return err
	}
	return r.linked(path, real, info)
}

// folder refuses an open folder that is hidden, and returns its real path.
func (r reach) folder(path string, f *os.File) (string, error) {
	real, err := realPath(f)
	if err != nil {
		return "", explain(path, err)
	}
	if err := r.paths.Look(real); err != nil {
		return "", err
	}
	return real, r.mounted(real)
}

// hides reports whether the place of a list entry is hidden.
func (r reach) hides(real string) bool { return r.paths.Look(real) != nil }

// change refuses a file that a tool must not write: the one called name in an open
// folder.
func (r reach) change(dir *os.Root, name string) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	real, err := realPath(f)
	if err != nil {
		return err
	}
	if err := r.paths.Change(filepath.Join(real, name)); err != nil {
		return err
	}
	return r.mounted(real)
}

// mayChange calls [reach.change] for the nearest folder that exists, before anything is
// made; save checks again in the folder it writes into.
func (p place) mayChange(path string) error {
	dir, below := filepath.Dir(p.rel), filepath.Base(p.rel)
	for {
		at, err := p.root.OpenRoot(dir)
		if err == nil {
			err = p.reach.change(at, below)
			_ = at.Close()
			return explain(path, err)
		}
		if dir == "." || !isMissing(err) {
			return explain(path, err)
		}
		dir, below = filepath.Dir(dir), filepath.Join(filepath.Base(dir), below)
	}
}

// mounted refuses a folder that is, or is inside, a home of fika under another path, as
// a bind mount or a case-insensitive file system makes possible.
func (r reach) mounted(real string) error {
	homes := r.homes
	if !r.blind {
		homes = Identify(r.paths.Homes)
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		id, ok := identify(dir)
		if ok && slices.Contains(homes, id) && r.paths.Look(real) == nil && !r.isOwn(real) {
			return fika.Errorf(fika.Denied, "path", "%s is a home of fika under another name: it is out of reach of file tools", short(real))
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// isOwn reports whether a path is inside one of the agent's own folders, or of those that
// it reads wherever they are.
func (r reach) isOwn(real string) bool {
	if r.paths.IsReadable(real) {
		return true
	}
	for _, own := range r.paths.Own {
		if rel, err := filepath.Rel(own, real); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// linked refuses a file with several names if one of them is hidden, or if there are too
// many files to find out.
func (r reach) linked(path, real string, info fs.FileInfo) error {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok || sys.Nlink < 2 || r.isOwn(real) {
		return nil
	}
	left := linkVisits
	for _, root := range r.paths.HiddenRoots() {
		err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
			if left--; left < 0 {
				return fika.Errorf(fika.Denied, "path", "%s has a second name that may be out of reach, and there are too many files to look: copy it", short(path))
			}
			if r.blind && errors.Is(err, fs.ErrPermission) {
				return fika.Errorf(fika.Denied, "path", "%s has a second name that may be out of reach, and this user cannot look there: copy it", short(path))
			}
			if err != nil || d.IsDir() {
				return nil
			}
			if other, err := d.Info(); err == nil && os.SameFile(info, other) && r.paths.Look(at) != nil {
				return fika.Errorf(fika.Denied, "path", "%s is a second name of a file that is out of reach of file tools", short(path))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
