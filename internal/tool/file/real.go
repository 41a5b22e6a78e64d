package file

import (
	"io/fs"
	"os"
	"path/filepath"
)

// resolved follows the links in the name that a file was opened by, and checks that the
// result is still the same file.
func resolved(f *os.File) (string, error) {
	path, err := filepath.EvalSymlinks(f.Name())
	if err != nil {
		return "", err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return "", err
	}
	a, err := f.Stat()
	if err != nil {
		return "", err
	}
	b, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !os.SameFile(a, b) {
		return "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return path, nil
}
