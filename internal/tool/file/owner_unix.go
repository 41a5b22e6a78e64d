//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file it will replace, or at least its group, if the
// system permits it: fika run by root must not take people's files from them.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok && f.Chown(int(st.Uid), int(st.Gid)) != nil {
		_ = f.Chown(-1, int(st.Gid))
	}
}
