//go:build unix && !linux && !darwin

package process

import "fika"

// Identify identifies a process by its pid alone, because nothing better is known on this
// platform. It returns false if there is no such process.
func Identify(pid int) (fika.Process, bool) {
	return fika.Process{PID: pid}, pid > 0 && exists(pid)
}

// StateOf says whether there is a process with this pid; what it is doing is unknown.
func StateOf(p fika.Process) State {
	if now, ok := Identify(p.PID); !ok || now != p {
		return Gone
	}
	return Unknown
}
