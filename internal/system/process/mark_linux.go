package process

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"fika/internal/system/sleep"
)

// EndMarked kills every process of this user, except this one, that carries the mark of
// step in the environment it was started with, in whatever group or session it is, and
// waits up to 2 s until they are gone. It returns how many processes it killed. A process
// that has cleared its environment is not found. It reads all of /proc, so it is for
// cancellation and recovery, not for every call.
func EndMarked(step string) int {
	if step == "" {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	h := hunt{mark: []byte(Mark + "=" + step), killed: map[int]bool{}}
	began, pause, quiet := time.Now(), time.Millisecond, 0
	// Until two looks in a row find nothing: one look can miss a process whose parent
	// ended while /proc was read, and a process in the middle of an execve.
	for quiet < 2 {
		switch found, unsure := h.lookOnce(); {
		case found, unsure && time.Since(began) < 100*time.Millisecond:
			quiet = 0
		default:
			quiet++
		}
		if sleep.For(ctx, pause) != nil {
			break
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
	return len(h.killed)
}

// hunt is one search for marked processes.
type hunt struct {
	mark   []byte
	killed map[int]bool
}

// lookOnce looks at all processes once. unsure reports that some process had no readable
// environment, as happens for a moment in the middle of an execve.
func (h *hunt) lookOnce() (found, unsure bool) {
	for _, pid := range listPIDs() {
		if pid == os.Getpid() {
			continue
		}
		marked, known := h.visitProcess(pid)
		found = found || marked
		unsure = unsure || !known
	}
	return found, unsure
}

// visitProcess kills a process that carries the mark. It holds the process by a
// descriptor from before it looks, so that a reused pid is not hit.
func (h *hunt) visitProcess(pid int) (marked, known bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	var owner unix.Stat_t
	if unix.Stat(dir, &owner) != nil || int(owner.Uid) != os.Geteuid() {
		return false, true
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, true
	}
	defer unix.Close(fd)
	env, err := os.ReadFile(dir + "/environ")
	if err != nil || len(env) == 0 {
		s, ok := readStat(pid)
		return false, !ok || s.isDead() || s.isKernelThread()
	}
	if !hasEntry(env, h.mark) || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return false, true
	}
	h.killed[pid] = true
	return true, true
}

// hasEntry reports whether a zero-separated environment has exactly this entry.
func hasEntry(env, entry []byte) bool {
	for one := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(one, entry) {
			return true
		}
	}
	return false
}
