package process

import "fika"

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
