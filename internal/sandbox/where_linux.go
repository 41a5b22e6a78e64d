package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// stamp tells whether a file may have been touched. A process can set all of it
// but the time of its last change of state, which is the kernel's.
type stamp struct {
	identity
	mode, size       int64
	written, changed syscall.Timespec
}

// clockGrain is longer than any file system's clock takes to go on.
const clockGrain = 3 * time.Second

// stampOf is the stamp of a file; settled when it was last changed longer ago than
// any clock takes to go on, so that one more change cannot have the same stamp.
func stampOf(info fs.FileInfo) (s stamp, settled bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{identify(info), int64(st.Mode), st.Size, st.Mtim, st.Ctim}, time.Since(time.Unix(st.Ctim.Unix())) > clockGrain
}

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
