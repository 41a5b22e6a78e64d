package process

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Thread is a thread of this process; zero is none.
type Thread int

// OwnThread gives the calling goroutine a thread for itself, which ends when the
// goroutine does.
func OwnThread() Thread {
	runtime.LockOSThread()
	return Thread(unix.Gettid())
}

// Yield lets every other thread of the machine go before t from now on.
func (t Thread) Yield() {
	if t != 0 {
		_ = unix.Setpriority(unix.PRIO_PROCESS, int(t), lowest)
	}
}

const lowest = 19
