package process

import (
	"context"
	"slices"
	"syscall"
	"time"

	"fika"
	"fika/internal/system/sleep"
)

// Ancestors lists the processes that pid descends from, from its parent to the oldest
// that can be seen (init, or the first process of this pid namespace). The list does not
// contain pid itself. known is false when the walk was incomplete: pid does not run, a
// process in between may not be inspected, or the platform does not tell; the list then
// holds what was found.
//
// A process whose parent has ended belongs to the next subreaper, or to init: its list
// begins there.
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
		// The parent ended while we looked: by now there is another one.
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

// Descendants lists the running processes below pid, parents first. known is false when
// the platform does not tell.
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

// EndTree kills exactly p with everything below it, whatever groups and sessions these
// processes are in, and whether or not they cleared their environment. All are stopped
// before any is killed, so that none escapes while the others die. Processes that left
// the tree earlier, because p is no subreaper, are not found. EndTree waits at most 2 s
// until all are gone.
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
				_ = Signal(d, syscall.SIGSTOP) // what we may not stop we may not kill
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
