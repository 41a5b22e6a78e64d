package process

import (
	"golang.org/x/sys/unix"

	"fika"
)

// Identify identifies a process so that it can be told from a later one with the same
// pid: Start is in microseconds here. It returns false if there is no such process.
func Identify(pid int) (fika.Process, bool) {
	boot, _ := unix.Sysctl("kern.bootsessionuuid")
	p := fika.Process{PID: pid, BootID: boot}
	if pid <= 0 || !exists(pid) {
		return p, false
	}
	if info, err := unix.SysctlKinfoProc("kern.proc.pid", pid); err == nil {
		t := info.Proc.P_starttime
		p.Start = int64(t.Sec)*1e6 + int64(t.Usec)
	}
	return p, true
}

// StateOf says what exactly p is doing now.
func StateOf(p fika.Process) State {
	if now, ok := Identify(p.PID); !ok || now != p {
		return Gone
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", p.PID)
	if err != nil {
		return Unknown
	}
	const stopped, zombie = 4, 5 // SSTOP and SZOMB of <sys/proc.h>
	switch info.Proc.P_stat {
	case stopped:
		return Stopped
	case zombie:
		return Zombie
	}
	return Running
}
