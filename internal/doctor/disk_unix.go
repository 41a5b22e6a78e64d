//go:build linux || darwin

package doctor

import "syscall"

// freeBytes returns how much of the disk that holds path is available to this process.
func freeBytes(path string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
