package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrHeld says that another open file holds the lock.
var ErrHeld = errors.New("lock is held")

// LockFile takes the file's exclusive lock without waiting, or returns [ErrHeld]. The
// lock belongs to the open file and ends with it, even if the process is killed.
func LockFile(f *os.File) error { return lockFile(f, unix.LOCK_EX|unix.LOCK_NB) }

// LockFileShared takes a shared lock, which excludes only exclusive ones, without
// waiting, or returns [ErrHeld].
func LockFileShared(f *os.File) error { return lockFile(f, unix.LOCK_SH|unix.LOCK_NB) }

// UnlockFile releases the lock before the file is closed.
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
