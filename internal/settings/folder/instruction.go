package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fika"
)

// ReadText reads a text that a person named, through links if need be: a regular file
// of at most limit bytes. It returns NotFound for a missing file.
func ReadText(path string, limit int64) (string, error) {
	data, err := readCapped(path, limit)
	if err == nil && data == nil {
		err = fika.Errorf(fika.NotFound, "read "+filepath.Base(path), "%s does not exist", path)
	}
	return strings.ToValidUTF8(string(data), "\ufffd"), err
}

// ReadInside reads a text in a folder that anybody may have written: only a regular
// file of that very folder, of at most limit bytes. It does not follow links or wait
// for a pipe or device. A missing file is "".
func ReadInside(dir, name string, limit int64) (string, error) {
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EMLINK): // as FreeBSD reports it
		return "", fika.Errorf(fika.Invalid, "read "+name, "%s is a symbolic link, which is not followed", path)
	case errors.Is(err, syscall.ENXIO):
		return "", fika.Errorf(fika.Invalid, "read "+name, "%s is not a regular file", path)
	case err != nil:
		return "", fileError("read "+name, path, err)
	}
	defer f.Close()
	data, err := readRegular(f, path, limit)
	return strings.ToValidUTF8(string(data), "\ufffd"), err
}
