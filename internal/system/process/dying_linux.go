package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// DyingGroup is [OwnGroup] for a process that dies with the thread that starts it: the
// caller must keep that thread (runtime.LockOSThread) until the process has ended.
func DyingGroup() *syscall.SysProcAttr {
	attr := OwnGroup()
	attr.Pdeathsig = syscall.SIGKILL
	return attr
}

// StartWithin makes a process begin in the control group whose folder is open, or in the
// caller's if group is nil. The caller must keep the folder open until the process has
// started.
func StartWithin(attr *syscall.SysProcAttr, group *os.File) *syscall.SysProcAttr {
	if group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(group.Fd())
	}
	return attr
}

// AwaitExit blocks until a child has ended and leaves it as a zombie, so that its pid is
// not reused. It returns false if it cannot wait.
func AwaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
