package folder

import "golang.org/x/sys/unix"

func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}

// startTime is in microseconds since 1970.
func startTime(pid int) (int64, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return 0, false
	}
	t := info.Proc.P_starttime
	return int64(t.Sec)*1_000_000 + int64(t.Usec), true
}
