//go:build unix

package folder

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"fika/internal/crash"
)

var errHeld = errors.New("lock is held")

func flockExclusive(f *os.File) error {
	if crash.Without(crash.Flock) {
		return nil
	}
	return flock(f, unix.LOCK_EX|unix.LOCK_NB)
}

func flockShared(f *os.File) error { return flock(f, unix.LOCK_SH|unix.LOCK_NB) }
func unflock(f *os.File) error     { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		}
		return err
	}
}

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// writable asks the kernel instead of trying.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

// exists reports whether any process has the pid, ours or not.
func exists(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
