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

// Stamp is empty on this platform: every file is read again.
type Stamp struct{}

// StampOf returns an empty stamp, which is never settled.
func StampOf(fs.FileInfo) (s Stamp, settled bool) { return Stamp{}, false }
