package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// Stamp tells whether a file may have been touched. A process can forge all of it except
// the time of the last status change, which the kernel sets.
type Stamp struct {
	identity
	mode, size       int64
	written, changed syscall.Timespec
}

// clockGrain is longer than the clock tick of any file system.
const clockGrain = 3 * time.Second

// StampOf returns the stamp of a file. settled reports that the last change is older than
// clockGrain, so that another change cannot leave the same stamp.
func StampOf(info fs.FileInfo) (s Stamp, settled bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}, false
	}
	return Stamp{identify(info), int64(st.Mode), st.Size, st.Mtim, st.Ctim}, time.Since(time.Unix(st.Ctim.Unix())) > clockGrain
}

// identify returns the identity of a file.
func identify(info fs.FileInfo) identity {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return identity{st.Dev, st.Ino}
	}
	return identity{}
}

// whereIs returns the present path of an open file.
func whereIs(f *os.File) (string, error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err == nil && strings.HasSuffix(path, " (deleted)") {
		return "", os.ErrNotExist
	}
	return path, err
}
