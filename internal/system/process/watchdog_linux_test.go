package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fika/internal/system/process"
)

// TestWatchdog: children are ended at the time that was set last, with what has left their
// group, also while the process that started them is stopped; before that they run.
func TestWatchdog(t *testing.T) {
	starter := exec.Command("/proc/self/exe", "-test.run=^TestWatchdogStarter$", "-test.v")
	starter.Env = append(os.Environ(), "FIKA_WATCHDOG_TEST=1")
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = starter.Process.Kill()
		_ = starter.Wait()
	}()
	var pids []int
	lines := bufio.NewScanner(out)
	for len(pids) < 2 && lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
			pid, _ := strconv.Atoi(text)
			pids = append(pids, pid)
		}
	}
	if len(pids) != 2 {
		t.Fatal("the children did not start")
	}
	var held []int
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("a child is gone too early: %v", err)
		}
		held = append(held, fd)
	}
	if err := starter.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for i, fd := range held {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(ready, int(time.Minute/time.Millisecond))
			if err == unix.EINTR {
				continue
			}
			if n != 1 {
				t.Errorf("child %d still runs", i)
			}
			break
		}
	}
}

// TestWatchdogStarter is the process that TestWatchdog starts.
func TestWatchdogStarter(t *testing.T) {
	if os.Getenv("FIKA_WATCHDOG_TEST") == "" {
		t.Skip("it is a part of TestWatchdog")
	}
	c := process.NewChildren()
	c.Until(process.Boottime() + time.Hour)
	cmd := exec.Command("sh", "-c", `echo pid $$; setsid sh -c 'echo pid $$; exec sleep 1000' & exec sleep 1000`)
	cmd.Stdout, cmd.Env, cmd.SysProcAttr = os.Stdout, append(os.Environ(), process.Mark+"=request/1"), process.OwnGroup()
	if err := c.Start(cmd, "request/1"); err != nil {
		t.Fatal(err)
	}
	c.Until(process.Boottime() + 3*time.Second)
	_ = cmd.Wait()
	if err := c.Start(exec.Command("true"), "request/2"); err == nil {
		t.Error("a child is started after the time")
	}
	select {}
}

func TestMain(m *testing.M) {
	if process.IsWatchdog(os.Args[1:]) {
		os.Exit(process.Watch())
	}
	os.Exit(m.Run())
}
