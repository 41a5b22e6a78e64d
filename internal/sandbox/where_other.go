//go:build !linux

package sandbox

import (
	"errors"
	"os"
)

// whereIs cannot be told here.
func whereIs(*os.File) (string, error) { return "", errors.ErrUnsupported }
