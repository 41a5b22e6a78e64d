package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fika"
	"fika/internal/tool"
)

// maxLinks bounds the symbolic links followed for one file.
const maxLinks = 40

// place is a path inside an open workspace.
type place struct {
	root  *os.Root
	rel   string // without a trailing slash; "." for the workspace itself
	reach reach
}

// enter opens the workspace of a call and locates path in it. The caller must close the
// place.
func enter(c tool.Call, r reach, path string) (place, error) {
	if c.Workspace == "" {
		return place{}, fika.Errorf(fika.Invalid, "workspace", "this agent has no workspace: file tools cannot be used")
	}
	rel, err := relative(c.Workspace, path)
	if err != nil {
		return place{}, err
	}
	root, err := os.OpenRoot(c.Workspace)
	if err != nil {
		return place{}, fika.Errorf(fika.Failed, "workspace", "the workspace cannot be opened: %v", err)
	}
	return place{root: root, rel: rel, reach: r}, nil
}

// enterToLook is enter for a tool that changes nothing: an absolute path may also be in
// one of the folders that can be read wherever they are.
func enterToLook(c tool.Call, r reach, path string) (place, error) {
	if filepath.IsAbs(path) && !strings.ContainsRune(path, 0) {
		for _, dir := range r.paths.Readable {
			rel, err := filepath.Rel(dir, filepath.Clean(path))
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				return place{}, explain(path, err)
			}
			return place{root: root, rel: rel, reach: r}, nil
		}
	}
	return enter(c, r, path)
}

func (p place) close() { _ = p.root.Close() }

// relative returns path relative to the workspace. The result only serves to name and
// find the file; the os.Root enforces that nothing leads out. A trailing slash is
// dropped here, so that "link/" is judged as the link it is.
func relative(workspace, path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", fika.Errorf(fika.Invalid, "path", "the path has a zero byte in it")
	}
	if path == "" {
		return "", fika.Errorf(fika.Invalid, "path", "path is empty")
	}
	rel := filepath.Clean(path)
	if filepath.IsAbs(rel) {
		inside, err := underneath(workspace, rel)
		if err != nil {
			return "", outside(path)
		}
		rel = inside
	}
	if !filepath.IsLocal(rel) {
		return "", outside(path)
	}
	return rel, nil
}

// underneath makes an absolute path relative to the workspace, which it may name as
// configured or by its real path.
func underneath(workspace, abs string) (string, error) {
	if rel, err := filepath.Rel(workspace, abs); err == nil && filepath.IsLocal(rel) {
		return rel, nil
	}
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", err
	}
	return filepath.Rel(real, abs)
}

func outside(path string) error {
	return fika.Errorf(fika.Denied, "path", "%s is outside the workspace: use a path relative to it", short(path))
}

// explain turns the operating system's error about path into words that name the path as
// the model did.
func explain(path string, err error) error {
	var known *fika.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fika.Wrap(fika.Interrupted, "file", err)
	case errors.Is(err, fs.ErrNotExist):
		return fika.Errorf(fika.NotFound, "file", "%s does not exist", short(path))
	case errors.Is(err, fs.ErrPermission):
		return fika.Errorf(fika.Failed, "file", "%s: permission denied", short(path))
	case errors.Is(err, syscall.ENOTDIR):
		return fika.Errorf(fika.Invalid, "file", "%s: something before the last part of the path is no directory", short(path))
	case errors.Is(err, syscall.ENOSPC):
		return fika.Errorf(fika.Storage, "file", "%s: the disk is full; nothing was changed", short(path))
	case errors.Is(err, syscall.ELOOP):
		return fika.Errorf(fika.Invalid, "file", "%s: too many symbolic links", short(path))
	}
	// The refusals of an os.Root have no error value of their own.
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fika.Errorf(fika.Failed, "file", "%s: %v", short(path), err)
}

// openRegular opens a regular file for reading and refuses anything else. It does not
// block, because opening a named pipe would wait for its writer for ever.
func (p place) openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := p.root.OpenFile(p.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, explain(path, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(path, info)
	}
	if err == nil {
		err = p.reach.refuseHidden(path, f, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, explain(path, err)
	}
	return f, info, nil
}

func regular(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fika.Errorf(fika.Invalid, "file", "%s is a directory: use list", short(path))
	case !info.Mode().IsRegular():
		return fika.Errorf(fika.Invalid, "file", "%s is not a regular file (%s)", short(path), info.Mode().Type())
	}
	return nil
}

// target follows symbolic links in the last part of the path, so that writing to a link
// changes the file it points to and leaves the link.
func (p place) target(path string) (string, error) {
	rel := p.rel
	for range maxLinks {
		info, err := p.root.Lstat(rel)
		if errors.Is(err, fs.ErrNotExist) {
			return rel, nil
		}
		if err != nil {
			return "", explain(path, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return rel, nil
		}
		to, err := p.root.Readlink(rel)
		if err != nil {
			return "", explain(path, err)
		}
		if filepath.IsAbs(to) {
			return "", fika.Errorf(fika.Denied, "path", "%s is a symbolic link to an absolute path: name the file itself", short(path))
		}
		rel = filepath.Join(filepath.Dir(rel), to)
		if !filepath.IsLocal(rel) {
			return "", fika.Errorf(fika.Denied, "path", "%s is a symbolic link that leads out of the workspace", short(path))
		}
	}
	return "", explain(path, syscall.ELOOP)
}

// short returns a path for use in a message: quoted if it could be misread.
func short(path string) string {
	const most = 200
	if len(path) > most {
		path = path[:most] + "…"
	}
	return shown(path)
}
