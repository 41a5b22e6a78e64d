package process_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/system/process"
)

// started runs script until it has printed its first line, and gives the
// process and that line. It is ended with the test.
func started(t *testing.T, script string) (*exec.Cmd, fika.Process, string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = process.OwnGroup()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.SignalGroup(cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	var line []byte
	for one := make([]byte, 1); ; line = append(line, one...) {
		if _, err := io.ReadFull(out, one); err != nil {
			t.Fatal(err)
		}
		if one[0] == '\n' {
			break
		}
	}
	p, ok := process.Identify(cmd.Process.Pid)
	if !ok {
		t.Fatal("it is not there")
	}
	return cmd, p, string(line)
}

func TestEndGroup(t *testing.T) {
	// A child that outlives the call that made it, as a supervisor has them.
	cmd := exec.Command("sh", "-c", "trap '' TERM; sleep 300 & echo ready; wait; wait")
	cmd.SysProcAttr = process.OwnGroup()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	p, ok := process.Identify(cmd.Process.Pid)
	if !ok || !process.Alive(p) {
		t.Fatalf("got %+v", p)
	}
	other := p
	other.Start++
	if err := process.EndGroup(t.Context(), other, 0); err != nil || !process.Alive(p) {
		t.Errorf("a process with another start time was signalled: %v", err)
	}
	other = p
	other.BootID = "another"
	if err := process.EndGroup(t.Context(), other, 0); err != nil || !process.Alive(p) {
		t.Errorf("a process of another boot was signalled: %v", err)
	}
	if err := process.EndGroup(t.Context(), p, 100*time.Millisecond); err != nil || process.Alive(p) {
		t.Errorf("still there: %v", err)
	}
	_ = cmd.Wait()
}

func TestIdentify(t *testing.T) {
	p, ok := process.Identify(os.Getpid())
	if !ok || !process.Alive(p) {
		t.Errorf("got %+v", p)
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, ok := process.Identify(pid); ok || process.Alive(fika.Process{PID: pid, BootID: p.BootID}) {
			t.Errorf("there is a process %d", pid)
		}
	}
}

// What a process does is told by its identity: another start time is another
// process.
func TestStateOf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("states are known on Linux and macOS alone")
	}
	_, p, _ := started(t, "echo ready; sleep 300")
	if err := process.Signal(p, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for process.StateOf(p) != process.Stopped { // the signal is on its way
		runtime.Gosched()
	}
	if !process.Alive(p) {
		t.Error("a stopped process counts as gone")
	}
	other := p
	other.Start++
	if s := process.StateOf(other); s != process.Gone {
		t.Errorf("a later process with its pid is %s", s)
	}
	if err := process.Signal(other, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if s := process.StateOf(p); s != process.Stopped {
		t.Errorf("signalled by pid alone: it is %s", s)
	}
	if err := process.Signal(p, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for process.StateOf(p) != process.Zombie { // not waited for yet
		runtime.Gosched()
	}
	if process.Alive(p) {
		t.Error("a zombie counts as alive")
	}
}

func TestAncestors(t *testing.T) {
	list, known := process.Ancestors(os.Getpid())
	if runtime.GOOS != "linux" {
		if known {
			t.Error("known without a way to know")
		}
		return
	}
	if !known || len(list) == 0 || list[0].PID != os.Getppid() {
		t.Fatalf("got %v, %v", list, known)
	}
	// A child of a child: the shell in between, then we.
	_, p, _ := started(t, "sh -c 'echo ready; sleep 300' & wait")
	pid := 0
	for _, one := range children(t, p.PID) {
		pid = one
	}
	list, known = process.Ancestors(pid)
	if !known || !slices.Equal(list[:2], []fika.Process{p, process.IdentifySelf()}) {
		t.Errorf("got %v, %v; want %v and %v first", list, known, p, process.IdentifySelf())
	}
	if list, known := process.Ancestors(1 << 30); known || list != nil {
		t.Errorf("a process that is not there has the ancestors %v", list)
	}
}

func children(t *testing.T, pid int) []int {
	t.Helper()
	var list []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		raw, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(raw), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, child)
		}
	}
	return list
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	a, b := open(), open()
	if err := process.LockFile(a); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []func(*os.File) error{process.LockFile, process.LockFileShared} {
		if err := lock(b); !errors.Is(err, process.ErrHeld) {
			t.Errorf("got %v", err)
		}
	}
	if err := process.UnlockFile(a); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(process.LockFileShared(a), process.LockFileShared(b)); err != nil {
		t.Error(err)
	}
}

// A tree is ended whole, though its members have sessions of their own, ignore
// signals, and clear their environments.
func TestEndTree(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descendants are known on Linux alone")
	}
	_, p, _ := started(t, "trap '' TERM; setsid env -i sh -c 'trap \"\" TERM; sleep 300 & echo ready; wait' & wait")
	below, known := process.Descendants(p.PID)
	if !known || len(below) < 2 {
		t.Fatalf("below it run %v, %v", below, known)
	}
	other := p
	other.Start++
	if err := process.EndTree(other); err != nil || !process.Alive(p) {
		t.Fatalf("ended by pid alone: %v", err)
	}
	if err := process.EndTree(p); err != nil {
		t.Error(err)
	}
	for _, one := range append(below, p) {
		if process.Alive(one) {
			t.Errorf("%v is still there", one)
		}
	}
}

func TestWake(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("states are known on Linux and macOS alone")
	}
	cmd, p, _ := started(t, "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done")
	if err := process.Signal(p, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for process.StateOf(p) != process.Stopped {
		runtime.Gosched()
	}
	if !process.IsStopped(p) {
		t.Error("not known to be stopped")
	}
	if err := process.SignalAwake(p, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("it ended with %d, not by its own hand", code)
	}
}
