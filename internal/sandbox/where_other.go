//go:build !linux

package sandbox

import (
	"errors"
	"io/fs"
	"os"
)

// identify is the same for all files: nothing is confined on this platform.
func identify(fs.FileInfo) identity { return identity{} }

// whereIs is not supported on this platform.
func whereIs(*os.File) (string, error) { return "", errors.ErrUnsupported }

// stamp is empty on this platform: every file is read again.
type stamp struct{}

func stampOf(fs.FileInfo) (s stamp, settled bool) { return stamp{}, false }
