//go:build unix && !linux

package pgtest

import "syscall"

// endWithStarter does nothing: on this system, a process outlives its starter.
func endWithStarter(*syscall.SysProcAttr) {}
