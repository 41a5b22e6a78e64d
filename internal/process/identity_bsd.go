//go:build unix && !linux && !darwin

package process

import "fika"

// Identify names a process by its pid alone: nothing better is known here.
// false: there is no such process.
func Identify(pid int) (fika.Process, bool) {
	return fika.Process{PID: pid}, pid > 0 && exists(pid)
}

// StateOf says whether there is a process with this pid; what it does is
// unknown.
func StateOf(p fika.Process) State {
	if now, ok := Identify(p.PID); !ok || now != p {
		return Gone
	}
	return Unknown
}
