package file

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fika/internal/tool"
)

const (
	tempPrefix = ".fika-"
	tempSuffix = ".tmp"
	absent     = "absent"
	irregular  = "irregular" // a directory or device: nothing that these tools change
)

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// tempName returns the same name for every attempt at a step, so that the next attempt
// finds what an interrupted one left.
func tempName(step, rel string) string {
	if step == "" {
		return tempPrefix + rand.Text() + tempSuffix
	}
	sum := sha256.Sum256([]byte(step + "\x00" + rel))
	return tempPrefix + hex.EncodeToString(sum[:10]) + tempSuffix
}

// save writes content to p.rel: it makes a temporary file in the same directory, syncs
// it, gives it the mode and owner of old, and renames it into place. A reader sees the
// old file or the new one, never a part. Without replace, a file that has appeared there
// meanwhile is kept and fs.ErrExist returned. keep, unless nil, is called before the
// change.
func (p place) save(step string, content []byte, old fs.FileInfo, replace bool, keep func(Change) error) error {
	// Held open, so that nobody can put another directory in the parent's place
	// between the steps below.
	dir, err := p.root.OpenRoot(filepath.Dir(p.rel))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := p.reach.change(dir, filepath.Base(p.rel)); err != nil {
		return err
	}
	name, temp := filepath.Base(p.rel), tempName(step, p.rel)
	if err := dir.Remove(temp); err != nil && !isMissing(err) {
		return err
	}
	if err := writeTemp(dir, temp, content, old); err != nil {
		_ = dir.Remove(temp)
		return err
	}
	if keep != nil {
		if err := p.keepChange(dir, name, content, keep); err != nil {
			_ = dir.Remove(temp)
			return err
		}
	}
	if err := install(dir, temp, name, replace); err != nil {
		_ = dir.Remove(temp)
		return err
	}
	return syncDir(dir)
}

// keepChange calls keep with the change of a file in an open folder.
func (p place) keepChange(dir *os.Root, name string, content []byte, keep func(Change) error) error {
	rel, err := p.real(dir, name)
	if err != nil {
		return err
	}
	c := Change{Path: rel, New: content}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case err == nil:
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := regular(rel, info); err != nil {
			return err
		}
		c.Old, c.Size, c.Mode = f, info.Size(), info.Mode()
	case !isMissing(err):
		return err
	}
	return keep(c)
}

// real returns the path, relative to the workspace and without links, of a file in an
// open folder.
func (p place) real(dir *os.Root, name string) (string, error) {
	root, err := openedPath(p.root)
	if err != nil {
		return "", err
	}
	at, err := openedPath(dir)
	if err != nil {
		return "", err
	}
	return filepath.Rel(root, filepath.Join(at, name))
}

// openedPath returns where an open folder is.
func openedPath(dir *os.Root) (string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return "", err
	}
	defer f.Close()
	return realPath(f)
}

func writeTemp(dir *os.Root, temp string, content []byte, old fs.FileInfo) error {
	mode := fs.FileMode(0o666) // a new file: less the umask
	if old != nil {
		mode = 0o600 // until it gets the mode of the old file
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && old != nil {
		keepOwner(f, old)
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// install gives the temporary file its final name. A hard link fails if the name is
// taken, which a rename would not.
func install(dir *os.Root, temp, name string, replace bool) error {
	if replace {
		return dir.Rename(temp, name)
	}
	err := dir.Link(temp, name)
	switch {
	case err == nil:
		return dir.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	}
	// A file system without hard links: look, then rename.
	if _, err := dir.Lstat(name); !isMissing(err) {
		return fs.ErrExist
	}
	return dir.Rename(temp, name)
}

// syncDir makes the new name durable, where directories can be synced.
func syncDir(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = f.Sync()
	_ = f.Close()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// hash returns the state of a target: the SHA-256 of its content, or absent. It removes
// a temporary file of the same step, which is no longer of use.
func hash(ctx context.Context, c tool.Call, r reach, path string) (string, error) {
	p, err := enter(c, r, path)
	if err != nil {
		return "", err
	}
	defer p.close()
	if p.rel, err = p.target(path); err != nil {
		return "", err
	}
	if p.mayChange(path) != nil {
		return irregular, nil
	}
	if c.Step != "" {
		_ = p.root.Remove(filepath.Join(filepath.Dir(p.rel), tempName(c.Step, p.rel)))
	}
	f, err := p.root.OpenFile(p.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if isMissing(err) || errors.Is(err, syscall.ENOTDIR) {
		return absent, nil
	}
	if err != nil {
		return "", explain(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || p.reach.refuseHidden(path, f, info) != nil {
		return irregular, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, reader{ctx, f}); err != nil {
		return "", explain(path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// reader stops reading when its context ends.
type reader struct {
	ctx context.Context
	in  io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}
