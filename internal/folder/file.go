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
	"time"

	"github.com/google/renameio/v2"

	"fika"
)

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// replaceFile replaces what a person may edit: synced, atomic, keeping the
// file's permissions, and through a symbolic link the file it points to.
func replaceFile(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	err := renameio.WriteFile(path, data, fileMode, renameio.WithExistingPermissions())
	return fileError("write "+filepath.Base(path), path, err)
}

// swapFile replaces what is derived and can be made again: atomic, but not
// synced, because a one-shot prompt does it each time.
func swapFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".swap-*")
	if err != nil {
		return fileError("write "+filepath.Base(path), path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err = write(f); err != nil {
		_ = f.Close()
		return fileError("write "+filepath.Base(path), path, err)
	}
	if err = f.Close(); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return fileError("write "+filepath.Base(path), path, err)
}

// setAside renames a file that is not fika's own writing any more to a free
// name beside it, and returns that name (without folder).
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

// readCapped reads a regular file of at most limit bytes. A missing file is
// nil, nil.
func readCapped(path string, limit int64) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fileError("read "+filepath.Base(path), path, err)
	case !st.Mode().IsRegular():
		return nil, fika.Errorf(fika.Invalid, "read "+filepath.Base(path), "%s is not a regular file: move it away", path)
	case st.Size() > limit:
		return nil, tooLarge(path, st.Size(), limit)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError("read "+filepath.Base(path), path, err)
	}
	defer f.Close()
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

// fileError classifies what the operating system says about a file.
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

// hashOf names bytes. Short on purpose: it tells edits apart, it is no seal.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
