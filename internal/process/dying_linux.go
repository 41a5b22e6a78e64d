package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// DyingGroup is [OwnGroup] for a process that dies with the thread that starts it:
// whoever starts it keeps that thread (runtime.LockOSThread) until it has ended.
func DyingGroup() *syscall.SysProcAttr {
	attr := OwnGroup()
	attr.Pdeathsig = syscall.SIGKILL
	return attr
}

// StartWithin makes a process begin in the control group whose folder is open; nil:
// in that of who starts it. Keep the folder open until it has started.
func StartWithin(attr *syscall.SysProcAttr, group *os.File) *syscall.SysProcAttr {
	if group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(group.Fd())
	}
	return attr
}

// AwaitExit waits until a child has ended and leaves it as a zombie, whose pid is
// nobody else's; false when that cannot be done.
func AwaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
