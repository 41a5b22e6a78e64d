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

// Yield lets others go before t from now on, unless they do already.
func (t Thread) Yield() {
	if t != 0 && niceness(t) < behind {
		_ = unix.Setpriority(unix.PRIO_PROCESS, int(t), behind)
	}
}

// niceness is a thread's; that of one that has ended is zero.
func niceness(t Thread) int {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, int(t))
	if err != nil {
		return 0
	}
	return 20 - n // the system call gives no negative numbers
}

// behind is a priority that gets a tenth of a busy processor: what is looked
// through in one transaction must come to its end, for the log of changes grows
// until then.
const behind = 10
