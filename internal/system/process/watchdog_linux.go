package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fika"
)

// Boottime returns how long this machine has run, suspended or not.
func Boottime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // it cannot fail with this clock
	return time.Duration(t.Nano())
}

// watchdog is a process beside this one that ends children of this one at a time that
// must be put off again and again: also while this one is stopped, and at once when a
// suspended machine goes on. It ends them, too, when this process ends.
type watchdog struct {
	to  *os.File // its input
	cmd *exec.Cmd
}

// Until lets the children of this process run until a time of [Boottime]; then they and
// what they have started are killed, and no new one is started. It is called again to put
// that off. Before the first call nothing limits them.
func (c *Children) Until(t time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
	if c.dog != nil {
		c.tellDog("until", strconv.FormatInt(int64(t), 10))
	}
}

// Rest ends the watchdog, which nobody needs while there are no children; the next child
// starts it again.
func (c *Children) Rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.started {
		if !one.kept {
			return
		}
	}
	c.endDog()
}

// beforeStart has the watchdog know of a child that is about to be started.
func (c *Children) beforeStart(kind child) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == 0 || kind.kept {
		return nil
	}
	if Boottime() >= c.until {
		return fika.Errorf(fika.Lost, "start a process", "the agent could not be prolonged in the database, so it starts nothing")
	}
	if c.dog == nil {
		if err := c.startDog(); err != nil {
			return fika.Wrap(fika.Failed, "start the watchdog", err)
		}
	}
	c.tellDog("mark", kind.mark)
	return nil
}

// afterStart tells the watchdog the pid of a child that was started; 0: it was not.
func (c *Children) afterStart(pid int, kind child) {
	if c.dog != nil && !kind.kept {
		c.tellDog("pid", strconv.Itoa(pid), kind.mark)
	}
}

// afterEnd tells the watchdog that a child was waited for.
func (c *Children) afterEnd(pid int, kind child) {
	if c.dog != nil && !kind.kept {
		c.tellDog("gone", strconv.Itoa(pid))
	}
}

// startDog starts the watchdog and tells it of all children.
func (c *Children) startDog() error {
	in, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	cmd := exec.Command("/proc/self/exe", watchdogArgs()...)
	cmd.Stdin, cmd.Env, cmd.Dir, cmd.SysProcAttr = in, []string{"GOMAXPROCS=1"}, "/", OwnGroup()
	if err := cmd.Start(); err != nil {
		to.Close()
		return err
	}
	c.dog = &watchdog{to, cmd}
	c.started[cmd.Process.Pid] = child{kept: true}
	c.tellDog("until", strconv.FormatInt(int64(c.until), 10))
	for pid, one := range c.started {
		c.afterStart(pid, one)
	}
	return nil
}

// tellDog sends a line to the watchdog. One that is gone is replaced.
func (c *Children) tellDog(words ...string) {
	if _, err := fmt.Fprintln(c.dog.to, strings.Join(words, " ")); err == nil {
		return
	}
	c.endDog()
	if err := c.startDog(); err == nil && words[0] == "mark" {
		_, _ = fmt.Fprintln(c.dog.to, strings.Join(words, " "))
	}
}

func (c *Children) endDog() {
	if c.dog == nil {
		return
	}
	_ = c.dog.to.Close() // it ends
	_, _ = c.dog.cmd.Process.Wait()
	delete(c.started, c.dog.cmd.Process.Pid)
	c.dog = nil
}

func watchdogArgs() []string { return []string{"agent", "--watchdog"} }

// IsWatchdog reports whether the arguments of this program, without its name, ask for
// [Watch].
func IsWatchdog(args []string) bool { return slices.Equal(args, watchdogArgs()) }

// watched is what a watchdog knows.
type watched struct {
	pids  map[int]int    // by pid: a descriptor of it
	marks map[int]string // of those; of what is being started under 0
	timer int
}

// Watch is the watchdog of the process that writes to stdin, until that ends. It returns
// the exit status.
func Watch() int {
	timer, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	if err != nil {
		return 1
	}
	w := watched{map[int]int{}, map[int]string{}, timer}
	var text []byte
	buf := make([]byte, 4096)
	for {
		ready := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}, {Fd: int32(timer), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && err != unix.EINTR {
			return 1
		}
		if ready[1].Revents != 0 {
			_, _ = unix.Read(timer, buf[:8])
			w.kill()
		}
		if ready[0].Revents == 0 {
			continue
		}
		n, err := unix.Read(0, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			w.kill()
			return 0
		}
		text = append(text, buf[:n]...)
		for {
			line, rest, whole := bytes.Cut(text, []byte("\n"))
			if !whole {
				break
			}
			w.hear(strings.Split(string(line), " "))
			text = rest
		}
	}
}

// hear takes one line.
func (w *watched) hear(words []string) {
	words = append(words, "", "")
	n, _ := strconv.ParseInt(words[1], 10, 64)
	pid := int(n)
	switch words[0] {
	case "until":
		when := unix.ItimerSpec{Value: unix.NsecToTimespec(max(n, 1))}
		_ = unix.TimerfdSettime(w.timer, unix.TFD_TIMER_ABSTIME, &when, nil)
	case "mark":
		w.marks[0] = words[1]
	case "pid":
		delete(w.marks, 0)
		if fd, err := unix.PidfdOpen(pid, 0); pid > 1 && err == nil {
			w.pids[pid], w.marks[pid] = fd, words[2]
		}
	case "gone":
		if fd, known := w.pids[pid]; known {
			_ = unix.Close(fd)
			delete(w.pids, pid)
			delete(w.marks, pid)
		}
	}
}

// kill ends all children with their groups, and what carries their marks.
func (w *watched) kill() {
	for pid, fd := range w.pids {
		if unix.PidfdSendSignal(fd, 0, nil, 0) == nil { // it has not been waited for, so that its pid is still its own
			_ = unix.Kill(-pid, unix.SIGKILL)
		}
	}
	for _, mark := range w.marks {
		EndMarked(mark)
	}
}
