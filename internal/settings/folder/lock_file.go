package folder

import (
	"os"

	"golang.org/x/sys/unix"

	"fika/internal/system/crash"
	"fika/internal/system/process"
)

func flockExclusive(f *os.File) error {
	if crash.Without(crash.Flock) {
		return nil
	}
	return process.LockFile(f)
}

// checkWritable asks the kernel instead of trying to write. The error is EROFS on a
// read-only disk.
func checkWritable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
