package process

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Thread is a thread of this process; zero is none.
type Thread int

// OwnThread gives the calling goroutine a thread of its own, which ends with the
// goroutine.
func OwnThread() Thread {
	runtime.LockOSThread()
	return Thread(unix.Gettid())
}

// Yield lowers the priority of t from now on, unless it is already as low.
func (t Thread) Yield() {
	if t != 0 && niceness(t) < behind {
		_ = unix.Setpriority(unix.PRIO_PROCESS, int(t), behind)
	}
}

// niceness returns the niceness of a thread; zero if the thread has ended.
func niceness(t Thread) int {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, int(t))
	if err != nil {
		return 0
	}
	return 20 - n // the system call returns no negative numbers
}

// behind is a niceness that gets a tenth of a busy processor: a scan in one transaction
// must still finish, because the write-ahead log grows until then.
const behind = 10
