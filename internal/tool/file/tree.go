package file

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/tool"
)

// Tree reads and writes the files of a workspace in order to restore them. The limits of
// the tools apply, and no link is followed.
type Tree struct {
	call  tool.Call
	paths guard.Paths
}

// NewTree returns the tree of a workspace; paths are out of reach.
func NewTree(workspace string, paths guard.Paths) Tree {
	return Tree{tool.Call{Workspace: workspace}, paths}
}

// enter opens the folder of a path for a change. The caller must close both results.
func (t Tree) enter(path string) (place, *os.Root, error) {
	p, err := enter(t.call, reach{paths: t.paths}, filepath.FromSlash(path))
	if err != nil {
		return p, nil, err
	}
	dir, err := p.root.OpenRoot(filepath.Dir(p.rel))
	if err == nil {
		err = t.straight(p, dir)
	}
	if err != nil {
		if dir != nil {
			_ = dir.Close()
		}
		p.close()
		return place{}, nil, explain(path, err)
	}
	return p, dir, nil
}

// straight refuses a folder that was reached through a link, and a file that tools must
// not change.
func (t Tree) straight(p place, dir *os.Root) error {
	name := filepath.Base(p.rel)
	real, err := p.real(dir, name)
	if err != nil {
		return err
	}
	if real != p.rel {
		return fika.Errorf(fika.Denied, "path", "a folder on the way to it is a link now")
	}
	return p.reach.change(dir, name)
}

// open opens a regular file in a folder.
func open(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fika.Errorf(fika.Conflict, "file", "it is not a regular file any more")
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Hash returns the SHA-256 of a file in hex, or "absent".
func (t Tree) Hash(path string) (string, error) {
	p, dir, err := t.enter(path)
	if isNone(err) {
		return absent, nil
	}
	if err != nil {
		return "", err
	}
	defer p.close()
	defer dir.Close()
	f, _, err := open(dir, filepath.Base(p.rel))
	if isNone(err) {
		return absent, nil
	}
	if err != nil {
		return "", explain(path, err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", explain(path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// isNone reports whether err says that the file or its folder does not exist.
func isNone(err error) bool {
	return isMissing(err) || errors.Is(err, syscall.ENOTDIR) || fika.IsKind(err, fika.NotFound)
}

// Read returns the content and mode of a file.
func (t Tree) Read(path string) ([]byte, fs.FileMode, error) {
	p, dir, err := t.enter(path)
	if err != nil {
		return nil, 0, err
	}
	defer p.close()
	defer dir.Close()
	f, info, err := open(dir, filepath.Base(p.rel))
	if err != nil {
		return nil, 0, explain(path, err)
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	return content, info.Mode(), explain(path, err)
}

// Write writes a file as a whole or not at all, and makes missing folders. attempt names
// the temporary file. mode is the file's mode; 0: the mode of the file it replaces, or
// of a new one.
func (t Tree) Write(attempt, path string, content []byte, mode fs.FileMode) error {
	if err := t.makeFolders(path); err != nil {
		return err
	}
	p, dir, err := t.enter(path)
	if err != nil {
		return err
	}
	defer p.close()
	defer dir.Close()
	name := filepath.Base(p.rel)
	f, info, err := open(dir, name)
	switch {
	case err == nil:
		_ = f.Close()
	case !isNone(err):
		return explain(path, err)
	}
	if err := p.save(attempt, content, info, info != nil, nil); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fika.Errorf(fika.Conflict, "file", "it has been made by somebody else since")
		}
		return explain(path, err)
	}
	if mode.Perm() == 0 || info != nil && info.Mode().Perm() == mode.Perm() {
		return nil
	}
	return explain(path, dir.Chmod(name, mode.Perm()))
}

// makeFolders makes the missing folders of a path, where tools may write.
func (t Tree) makeFolders(path string) error {
	p, err := enter(t.call, reach{paths: t.paths}, filepath.FromSlash(path))
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.mayChange(path); err != nil {
		return err
	}
	return explain(path, p.root.MkdirAll(filepath.Dir(p.rel), 0o777))
}

// Remove deletes a file, and then those of the folders above it that have become empty.
func (t Tree) Remove(path string, folders []string) error {
	p, dir, err := t.enter(path)
	if err != nil {
		return err
	}
	defer p.close()
	defer dir.Close()
	if err := dir.Remove(filepath.Base(p.rel)); err != nil {
		return explain(path, err)
	}
	if err := syncDir(dir); err != nil {
		return explain(path, err)
	}
	for _, folder := range folders {
		if !strings.HasPrefix(p.rel, folder+string(filepath.Separator)) || p.root.Remove(folder) != nil {
			break // the folder is not empty
		}
	}
	return nil
}
