package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// identify gives the identity of a file.
func identify(info fs.FileInfo) identity {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return identity{st.Dev, st.Ino}
	}
	return identity{}
}

// whereIs is the present path of an open file.
func whereIs(f *os.File) (string, error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err == nil && strings.HasSuffix(path, " (deleted)") {
		return "", os.ErrNotExist
	}
	return path, err
}
