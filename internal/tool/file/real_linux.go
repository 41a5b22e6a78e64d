package file

import (
	"fmt"
	"os"
)

// realPath is where an open file is, as the kernel has it. The folder of
// processes may be missing; then the name it was opened by has to do.
func realPath(f *os.File) (string, error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return resolved(f)
	}
	return path, nil
}
