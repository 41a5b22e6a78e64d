package sandbox

import (
	"fmt"
	"os"
	"strings"
)

// whereIs is the present path of an open file.
func whereIs(f *os.File) (string, error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err == nil && strings.HasSuffix(path, " (deleted)") {
		return "", os.ErrNotExist
	}
	return path, err
}
