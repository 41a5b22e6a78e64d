package process

import (
	"context"
	"slices"
	"syscall"
	"time"

	"fika"
	"fika/internal/sleep"
)

// Ancestors lists the processes that pid descends from, its parent first and
// the oldest one that can be seen last (init, or the first process of this pid
// namespace). The list does not hold pid itself. known is false when the walk
// did not come to an end: pid does not run, a process in between may not be
// looked at, or the platform tells nobody; the list then holds what was found.
//
// A process whose parent ended has been given to the next subreaper, or to
// init: its list begins there.
func Ancestors(pid int) (list []fika.Process, known bool) {
	at, ok := readStat(pid)
	for tries := 0; ok; {
		if at.parent == 0 {
			return list, true
		}
		up, there := readStat(at.parent)
		if there && up.start <= at.start {
			list = append(list, fika.Process{PID: at.parent, Start: up.start, BootID: bootID()})
			pid, at, tries = at.parent, up, 0
			continue
		}
		// The parent ended while we looked: there is another one by now.
		if tries++; tries > 3 {
			return list, false
		}
		was := at.start
		if at, ok = readStat(pid); ok && at.start != was {
			return list, false
		}
	}
	return list, false
}

// Descendants lists the processes below pid that run, parents first. known is
// false when the platform tells nobody.
func Descendants(pid int) (list []fika.Process, known bool) {
	type child struct {
		fika.Process
		parent int
	}
	var all []child
	for _, one := range listPIDs() {
		if s, ok := readStat(one); ok {
			all = append(all, child{fika.Process{PID: one, Start: s.start, BootID: bootID()}, s.parent})
		}
	}
	for at := []int{pid}; len(at) > 0; at = at[1:] {
		for _, c := range all {
			if c.parent != at[0] || slices.ContainsFunc(list, func(p fika.Process) bool { return p.PID == c.PID }) {
				continue
			}
			list, at = append(list, c.Process), append(at, c.PID)
		}
	}
	return slices.DeleteFunc(list, func(p fika.Process) bool { return !Alive(p) }), true
}

// EndTree kills exactly p with everything below it, wherever in the system
// that has put itself (other groups and sessions, cleared environments). All
// are stopped before any is killed, so that nobody gets away while the others
// die. What had left the tree before, because p is no subreaper, is not found.
// It waits, for 2 s at most, until all are gone.
func EndTree(p fika.Process) error {
	if p.PID <= 1 || !Alive(p) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	tree := []fika.Process{p}
	err := Signal(p, syscall.SIGSTOP)
	for fresh := true; fresh && ctx.Err() == nil; {
		fresh = false
		below, _ := Descendants(p.PID)
		for _, d := range below {
			if !slices.Contains(tree, d) {
				tree, fresh = append(tree, d), true
				_ = Signal(d, syscall.SIGSTOP) // not ours to stop: not ours to kill
			}
		}
	}
	for _, d := range slices.Backward(tree) {
		_ = Signal(d, syscall.SIGKILL)
	}
	for slices.ContainsFunc(tree, Alive) && sleep.For(ctx, time.Millisecond) == nil {
	}
	if err == nil && Alive(p) {
		err = fika.Errorf(fika.Failed, "end process", "process %d is still there after KILL", p.PID)
	}
	return err
}
