package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/system/crash"
)

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// replaceFile replaces a file that a person may edit: synced, atomic, with the same
// permissions; if path is a symbolic link, the file that it points to is replaced.
// check, if not nil, is called at the last moment and may still refuse.
func replaceFile(path string, data []byte, check func() error) error {
	op := "write " + filepath.Base(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(fileMode), renameio.WithExistingPermissions())
	if err != nil {
		return fileError(op, path, err)
	}
	defer func() { _ = f.Cleanup() }()
	defer removeOld(filepath.Dir(path), "."+filepath.Base(path)+"[0-9]*", time.Now())
	if _, err = f.Write(data); err == nil {
		err = f.Sync() // slow: done before the check, not after
	}
	if err == nil && check != nil {
		err = check()
	}
	if err == nil {
		crash.Point("text replace.before")
		err = f.CloseAtomicallyReplace()
		crash.Point("text replace.after")
	}
	return fileError(op, path, err)
}

// abandoned is the age at which nobody can be working on an unfinished file or folder
// any more.
const abandoned = time.Hour

// removeOld removes unfinished files that killed processes left in a folder.
func removeOld(dir, pattern string, now time.Time) {
	found, _ := filepath.Glob(filepath.Join(dir, pattern))
	for _, path := range found {
		if st, err := os.Lstat(path); err == nil && now.Sub(st.ModTime()) > abandoned {
			_ = os.RemoveAll(path)
		}
	}
}

// swapFile replaces a derived file that can be made again: atomically, but not synced,
// because every one-shot prompt does it. The caller is the only writer of the folder,
// so the temporary file has a fixed name, and one left by a killed process is
// overwritten.
func swapFile(path string, write func(io.Writer) error) (err error) {
	op := "write " + filepath.Base(path)
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return fileError(op, path, err)
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		crash.Point("mirror rename.before")
		err = os.Rename(next, path)
		crash.Point("mirror rename.after")
	}
	if err != nil {
		_ = os.Remove(next)
	}
	return fileError(op, path, err)
}

// setAside renames a file that was changed by others to a free name beside it, and
// returns that name without its folder.
func setAside(path, why string, now time.Time) (string, error) {
	base := filepath.Base(path) + "." + why + "-" + now.UTC().Format("20060102-150405")
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		free := filepath.Join(filepath.Dir(path), name)
		if _, err := os.Lstat(free); err == nil {
			continue
		}
		if err := os.Rename(path, free); err != nil {
			return "", fileError("set aside "+filepath.Base(path), path, err)
		}
		return name, nil
	}
}

// readCapped reads a regular file of at most limit bytes. It returns nil, nil for a
// missing file.
func readCapped(path string, limit int64) ([]byte, error) {
	// Non-blocking: opening a named pipe would wait for its writer for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError("read "+filepath.Base(path), path, err)
	}
	defer f.Close()
	return readRegular(f, path, limit)
}

// readRegular reads an open file if it is regular and has at most limit bytes.
func readRegular(f *os.File, path string, limit int64) ([]byte, error) {
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, fileError("read "+filepath.Base(path), path, err)
	case !st.Mode().IsRegular():
		return nil, fika.Errorf(fika.Invalid, "read "+filepath.Base(path), "%s is not a regular file: move it away", path)
	case st.Size() > limit:
		return nil, tooLarge(path, st.Size(), limit)
	}
	data := make([]byte, 0, st.Size()+1)
	data, err = appendAll(data, io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fileError("read "+filepath.Base(path), path, err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge(path, int64(len(data)), limit)
	}
	return data, nil
}

func appendAll(buf []byte, r io.Reader) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

func tooLarge(path string, size, limit int64) error {
	return fika.Errorf(fika.Invalid, "read "+filepath.Base(path), "%s is too large: %d bytes, at most %d are read; shorten it", path, size, limit)
}

// fileError classifies an error of the operating system about a file.
func fileError(op, path string, err error) error {
	var known *fika.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return &fika.Error{Kind: fika.NotFound, Op: op, Err: err}
	case errors.Is(err, fs.ErrPermission):
		return &fika.Error{Kind: fika.Storage, Op: op, Msg: path + " may not be read or written by this user; check its owner and permissions", Err: err}
	default:
		return &fika.Error{Kind: fika.Storage, Op: op, Err: err}
	}
}

// hashOf identifies content. It is short on purpose: it detects edits, but is no seal.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
