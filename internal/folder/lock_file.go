package folder

import (
	"os"

	"golang.org/x/sys/unix"

	"fika/internal/crash"
	"fika/internal/process"
)

func flockExclusive(f *os.File) error {
	if crash.Without(crash.Flock) {
		return nil
	}
	return process.LockFile(f)
}

// writable asks the kernel instead of trying.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
