//go:build unix && !linux

package pgtest

import "syscall"

// endWithStarter changes nothing: a process here outlives who started it.
func endWithStarter(*syscall.SysProcAttr) {}
