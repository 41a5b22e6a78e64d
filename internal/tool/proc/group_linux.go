package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fika"
)

// groupAttr puts a child into its own group and lets it die with the thread
// that starts it.
func groupAttr() *syscall.SysProcAttr {
	attr := Group()
	attr.Pdeathsig = syscall.SIGKILL
	return attr
}

// waitExit waits until pid has ended and leaves it as a zombie; false when
// that cannot be done.
func waitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// bootID never changes while this process lives.
var bootID = sync.OnceValue(func() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
})

// Identify names a process so that it can be told from a later one with the
// same pid. false: there is no such process.
func Identify(pid int) (fika.Process, bool) {
	s, ok := readStat(pid)
	if !ok {
		return fika.Process{PID: pid, BootID: bootID()}, false
	}
	return fika.Process{PID: pid, Start: s.start, BootID: bootID()}, true
}

// Alive reports whether exactly p still runs. A zombie does not.
func Alive(p fika.Process) bool {
	if p.PID <= 0 || p.BootID != bootID() {
		return false
	}
	s, ok := readStat(p.PID)
	return ok && s.start == p.Start && !s.dead()
}

// stat is what is used of /proc/PID/stat.
type stat struct {
	state byte
	pgrp  int
	flags int64
	start int64
}

// kernel reports whether it is a thread of the kernel (PF_KTHREAD).
func (s stat) kernel() bool { return s.flags&0x0020_0000 != 0 }

func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

func readStat(pid int) (stat, bool) {
	if pid <= 0 {
		return stat{}, false
	}
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return stat{}, false
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return stat{}, false
	}
	return parseStat(buf[:n])
}

// parseStat reads the fields after the command's name, which may itself hold
// spaces and parentheses: the last one ends it.
func parseStat(raw []byte) (stat, bool) {
	end := bytes.LastIndexByte(raw, ')')
	if end < 0 {
		return stat{}, false
	}
	f := bytes.Fields(raw[end+1:])
	const state, pgrp, flags, start = 0, 2, 6, 19 // fields 3, 5, 9 and 22 of proc(5): f begins with the third
	if len(f) <= start || len(f[state]) != 1 {
		return stat{}, false
	}
	group, err1 := strconv.Atoi(string(f[pgrp]))
	ticks, err2 := strconv.ParseInt(string(f[start]), 10, 64)
	bits, err3 := strconv.ParseInt(string(f[flags]), 10, 64)
	return stat{state: f[state][0], pgrp: group, flags: bits, start: ticks}, err1 == nil && err2 == nil && err3 == nil
}

// groupLives reports whether a process of group pgid runs; zombies do not.
func groupLives(pgid int) bool {
	for _, pid := range pids() {
		if s, ok := readStat(pid); ok && s.pgrp == pgid && !s.dead() {
			return true
		}
	}
	return false
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	list := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list
}
