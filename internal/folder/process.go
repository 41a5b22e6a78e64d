package folder

import (
	"os"

	"fika"
)

// thisProcess names the running process so that it can be told from a later
// one with the same pid.
func thisProcess() fika.Process {
	pid := os.Getpid()
	start, _ := startTime(pid)
	return fika.Process{PID: pid, Start: start, BootID: bootID()}
}

// sameProcess reports whether p runs now: same boot, same pid, same start
// time. What p does not know is not compared.
func sameProcess(p fika.Process) bool {
	if p.PID <= 0 || (p.BootID != "" && p.BootID != bootID()) {
		return false
	}
	start, ok := startTime(p.PID)
	if !ok {
		return p.Start == 0 && exists(p.PID)
	}
	return p.Start == 0 || p.Start == start
}
