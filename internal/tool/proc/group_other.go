//go:build unix && !linux

package proc

import (
	"errors"
	"syscall"

	"fika"
)

// groupAttr puts a child into its own group. There is no parent-death signal
// here: after a crash of fika, recovery ends the group.
func groupAttr() *syscall.SysProcAttr { return Group() }

// waitExit has no portable form that leaves a zombie: the process is reaped
// first and its group signalled after it.
func waitExit(int) bool { return false }

func groupLives(pgid int) bool { return !errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) }

// EndMarked finds nothing here: other processes' environments cannot be read.
func EndMarked(string) int { return 0 }

func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Alive reports whether exactly p still runs.
func Alive(p fika.Process) bool {
	if p.PID <= 0 {
		return false
	}
	now, ok := Identify(p.PID)
	return ok && now == p
}
