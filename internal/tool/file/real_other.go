//go:build unix && !linux

package file

import "os"

// realPath returns where an open file is.
func realPath(f *os.File) (string, error) { return resolved(f) }
