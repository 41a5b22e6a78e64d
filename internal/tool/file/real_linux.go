package file

import (
	"fmt"
	"os"
)

// realPath returns where an open file is, as the kernel reports it. If /proc is missing,
// it falls back on the name the file was opened by.
func realPath(f *os.File) (string, error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return resolved(f)
	}
	return path, nil
}
