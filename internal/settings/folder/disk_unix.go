//go:build linux || darwin

package folder

import (
	"fmt"
	"io/fs"
	"syscall"
)

// FreeSpace returns how much of the disk that holds path is available to this process, and
// how many files it can still take; files is -1 on a disk that does not count them.
func FreeSpace(path string) (bytes, files int64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, 0, false
	}
	files = int64(st.Ffree)
	if st.Files == 0 {
		files = -1
	}
	return int64(st.Bavail) * int64(st.Bsize), files, true
}

// fileNumber names a file among all of this machine.
func fileNumber(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}
