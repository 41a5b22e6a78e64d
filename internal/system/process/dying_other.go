//go:build unix && !linux

package process

import (
	"os"
	"syscall"
)

// DyingGroup is [OwnGroup]: this platform has no parent-death signal, and recovery ends
// the group after a crash.
func DyingGroup() *syscall.SysProcAttr { return OwnGroup() }

// AwaitExit always returns false: there is no portable way to leave a zombie, so the
// process is reaped first and its group signalled afterwards.
func AwaitExit(int) bool { return false }

// StartWithin returns attr unchanged: this platform has no control groups.
func StartWithin(attr *syscall.SysProcAttr, _ *os.File) *syscall.SysProcAttr { return attr }
