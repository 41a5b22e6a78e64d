//go:build unix && !linux

package process

import (
	"os"
	"syscall"
)

// DyingGroup is [OwnGroup]: there is no parent-death signal here, and recovery ends
// the group after a crash.
func DyingGroup() *syscall.SysProcAttr { return OwnGroup() }

// AwaitExit has no portable form that leaves a zombie: the process is reaped
// first and its group signalled after it.
func AwaitExit(int) bool { return false }

// StartWithin changes nothing: there are no control groups here.
func StartWithin(attr *syscall.SysProcAttr, _ *os.File) *syscall.SysProcAttr { return attr }
