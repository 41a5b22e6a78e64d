//go:build unix && !linux && !darwin

package proc

import "fika"

// Identify names a process by its pid alone: nothing better is known here.
// false: there is no such process.
func Identify(pid int) (fika.Process, bool) {
	return fika.Process{PID: pid}, pid > 0 && exists(pid)
}
