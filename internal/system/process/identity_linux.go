package process

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

// bootID never changes while this process lives.
var bootID = sync.OnceValue(func() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
})

// Identify identifies a process so that it can be told from a later one with the same
// pid. It returns false if there is no such process.
func Identify(pid int) (fika.Process, bool) {
	s, ok := readStat(pid)
	if !ok {
		return fika.Process{PID: pid, BootID: bootID()}, false
	}
	return fika.Process{PID: pid, Start: s.start, BootID: bootID()}, true
}

// StateOf says what exactly p is doing now.
func StateOf(p fika.Process) State {
	if p.PID <= 0 || p.BootID != bootID() {
		return Gone
	}
	s, ok := readStat(p.PID)
	switch {
	case !ok || s.start != p.Start || s.state == 'X' || s.state == 'x':
		return Gone
	case s.state == 'Z':
		return Zombie
	case s.state == 'T' || s.state == 't':
		return Stopped
	}
	return Running
}

// sendSignal holds the process by a descriptor while it checks once more, so that a
// reused pid is not hit.
func sendSignal(p fika.Process, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil { // an old kernel, or it has just gone
		return syscall.Kill(p.PID, sig)
	}
	defer unix.Close(fd)
	if !Alive(p) {
		return nil
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// stat holds the fields of /proc/PID/stat that are used here.
type stat struct {
	state   byte
	parent  int
	pgrp    int
	session int
	flags   int64
	start   int64
}

// isKernelThread reports whether the process is a thread of the kernel (PF_KTHREAD).
func (s stat) isKernelThread() bool { return s.flags&0x0020_0000 != 0 }

func (s stat) isDead() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

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

// parseStat reads the fields after the command's name. The name may itself contain spaces
// and parentheses, so the last closing one ends it.
func parseStat(raw []byte) (stat, bool) {
	end := bytes.LastIndexByte(raw, ')')
	if end < 0 {
		return stat{}, false
	}
	f := bytes.Fields(raw[end+1:])
	// Fields 3, 4, 5, 6, 9 and 22 of proc(5): f begins with the third.
	const state, parent, pgrp, session, flags, start = 0, 1, 2, 3, 6, 19
	if len(f) <= start || len(f[state]) != 1 {
		return stat{}, false
	}
	up, err0 := strconv.Atoi(string(f[parent]))
	group, err1 := strconv.Atoi(string(f[pgrp]))
	sid, err4 := strconv.Atoi(string(f[session]))
	ticks, err2 := strconv.ParseInt(string(f[start]), 10, 64)
	bits, err3 := strconv.ParseInt(string(f[flags]), 10, 64)
	s := stat{state: f[state][0], parent: up, pgrp: group, session: sid, flags: bits, start: ticks}
	return s, err0 == nil && err1 == nil && err2 == nil && err3 == nil && err4 == nil
}

// groupLives reports whether a process of group pgid runs; zombies do not count.
func groupLives(pgid int) bool {
	for _, pid := range listPIDs() {
		if s, ok := readStat(pid); ok && s.pgrp == pgid && !s.isDead() {
			return true
		}
	}
	return false
}

func listPIDs() []int {
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
