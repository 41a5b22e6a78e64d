package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrHeld says that another open file has the lock.
var ErrHeld = errors.New("lock is held")

// LockFile takes the file's exclusive lock at once, or returns [ErrHeld]. The
// lock belongs to the open file, and ends with it: also when its process is
// killed.
func LockFile(f *os.File) error { return lockFile(f, unix.LOCK_EX|unix.LOCK_NB) }

// LockFileShared takes a lock that excludes exclusive ones alone, at once, or
// returns [ErrHeld].
func LockFileShared(f *os.File) error { return lockFile(f, unix.LOCK_SH|unix.LOCK_NB) }

// UnlockFile gives the lock back before the file is closed.
func UnlockFile(f *os.File) error { return lockFile(f, unix.LOCK_UN) }

func lockFile(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrHeld
		}
		return err
	}
}
