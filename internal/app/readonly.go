package app

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"fika"
)

// copyDatabase copies the database of a home that cannot be written to a temporary
// folder, which is removed when the app is closed: a database can only be read if it
// can create its own files beside it. On a read-only disk nothing changes meanwhile;
// the home of another user may have to be read again.
func (d *Database) copyDatabase(path string) (string, error) {
	dir, err := os.MkdirTemp("", "fika-read-")
	if err != nil {
		return "", fika.Wrap(fika.Storage, "read a copy of the database", err)
	}
	d.closers.add(removed(dir))
	to := filepath.Join(dir, filepath.Base(path))
	for _, end := range []string{"", "-wal"} {
		err := copyFile(to+end, path+end)
		if errors.Is(err, os.ErrNotExist) && end == "" {
			return "", fika.Errorf(fika.NotFound, "open store", "%s does not exist, and cannot be made: the home cannot be written", path)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fika.Wrap(fika.Storage, "read a copy of the database", err)
		}
	}
	return to, nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// removed is a folder that Close removes.
type removed string

// Close removes the folder.
func (r removed) Close() error { return os.RemoveAll(string(r)) }
