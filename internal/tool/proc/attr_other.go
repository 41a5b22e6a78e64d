//go:build unix && !linux

package proc

import (
	"syscall"

	"fika/internal/process"
)

// groupAttr puts a child into its own group. There is no parent-death signal
// here: after a crash of fika, recovery ends the group.
func groupAttr() *syscall.SysProcAttr { return process.Group() }

// waitExit has no portable form that leaves a zombie: the process is reaped
// first and its group signalled after it.
func waitExit(int) bool { return false }
