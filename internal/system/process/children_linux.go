package process

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"fika"
	"fika/internal/system/sleep"
)

// Adopt makes this process the one that inherits orphans below it
// (PR_SET_CHILD_SUBREAPER), so that nothing leaves its tree by a double fork or a session
// of its own. Descriptors that this process inherited are marked close-on-exec, so that
// its children do not get them.
func (c *Children) Adopt() error {
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) // fails before Linux 5.11, which hands them on
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fika.Wrap(fika.Failed, "adopt orphans", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adopts = true
	return nil
}

// EndLeft ends what the child self, which has ended and is not forgotten yet, has left
// behind: orphans that carry its mark and, when no other child is working, those that
// carry none (they may have cleared their environment). It waits at most 2 s until they
// are gone, and returns how many it ended. If this process does not adopt orphans, only
// marks identify them ([EndMarked]).
func (c *Children) EndLeft(self int) int {
	c.mu.Lock()
	mark, adopts := c.started[self].mark, c.adopts
	c.mu.Unlock()
	if !adopts {
		return EndMarked(mark)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	ended := map[int]bool{}
	// Until two looks in a row find nothing: the children of a killed process become ours
	// only after it has died.
	for quiet, pause := 0, time.Millisecond; quiet < 2; quiet++ {
		if !c.endOrphans(self, mark, ended) {
			continue
		}
		quiet = -1
		if sleep.For(ctx, pause) != nil {
			break
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
	return len(ended)
}

// endOrphans looks at the orphans once; found reports that it killed at least one.
func (c *Children) endOrphans(self int, mark string, ended map[int]bool) (found bool) {
	c.forks.Lock()
	defer c.forks.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	running, served, alone := map[string]bool{}, map[string]bool{}, true
	for pid, one := range c.started {
		switch {
		case pid == self || one.kept:
		case one.served:
			served[one.mark] = true
		default:
			running[one.mark], alone = true, false
		}
	}
	ours, _ := readStat(os.Getpid())
	for _, pid := range ownChildren() {
		if one, mine := c.started[pid]; mine {
			if one.kept && reapChild(pid) {
				delete(c.started, pid)
			}
			continue
		}
		// Children are started in sessions of their own (Group), and so is everything
		// below them; a process in our session was started by other means.
		if s, ok := readStat(pid); !ok || s.session == ours.session || reapChild(pid) {
			continue
		}
		theirs := markOf(pid)
		if theirs != "" && served[theirs] {
			continue
		}
		if !alone && (theirs == "" || theirs != mark || running[theirs]) {
			continue // of a child that still works, as far as we can tell
		}
		if unix.Kill(pid, unix.SIGKILL) != nil { // a child of ours: its pid is not reused until it is reaped
			continue
		}
		found, ended[pid] = true, true
	}
	return found
}

// reapChild takes the status of a child that has ended; it returns false while the child
// runs.
func reapChild(pid int) bool {
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if err != unix.EINTR {
			return err != nil || got == pid
		}
	}
}

// markOf returns the mark in the environment that pid was started with; "" if there is
// none.
func markOf(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for one := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(one, []byte(Mark+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// ownChildren lists the children of this process, whichever of its threads started or
// adopted them.
func ownChildren() []int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var list []int
	var buf []byte
	for _, t := range tasks {
		raw, err := readProc("/proc/self/task/"+t.Name()+"/children", buf[:0])
		buf = raw
		if os.IsNotExist(err) {
			if _, err := os.Stat("/proc/self/task/" + t.Name()); err != nil {
				continue // the thread has ended
			}
			return scanChildren() // a kernel without these lists
		}
		for _, word := range bytes.Fields(raw) {
			if pid, err := strconv.Atoi(string(word)); err == nil {
				list = append(list, pid)
			}
		}
	}
	return list
}

// readProc appends the content of a file of /proc to buf. It is called for each thread
// after each tool call, and [os.ReadFile] would first try to register each file with the
// poller.
func readProc(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return buf, err
	}
	defer unix.Close(fd)
	for {
		buf = slices.Grow(buf, 512)
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case err == unix.EINTR:
		case err != nil || n <= 0:
			return buf, err
		default:
			buf = buf[:len(buf)+n]
		}
	}
}

func scanChildren() []int {
	var list []int
	for _, pid := range listPIDs() {
		if s, ok := readStat(pid); ok && s.parent == os.Getpid() {
			list = append(list, pid)
		}
	}
	return list
}
