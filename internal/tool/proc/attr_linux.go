package proc

import (
	"syscall"

	"golang.org/x/sys/unix"

	"fika/internal/process"
)

// groupAttr puts a child into its own group and lets it die with the thread
// that starts it.
func groupAttr() *syscall.SysProcAttr {
	attr := process.Group()
	attr.Pdeathsig = syscall.SIGKILL
	return attr
}

// waitExit waits until pid has ended and leaves it as a zombie; false when
// that cannot be done.
func waitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
