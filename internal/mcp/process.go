package mcp

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"fika"
	"fika/internal/process"
	"fika/internal/tool"
)

// grace is how long a server has to end by itself when its stdin is closed, and again
// after SIGTERM.
const grace = 2 * time.Second

// child is the process of a server.
type child struct {
	pid    int
	stdin  io.WriteCloser
	stdout *messages
	ended  chan struct{} // closed when the process is gone, with everything it started

	mu  sync.Mutex
	why string // how the process ended
}

// launch says how a process is started.
type launch struct {
	server   Server
	confine  Confinement // nil: nothing confines the process
	dir      string
	mark     string
	children *process.Children
	log      io.WriteCloser // closed when the process has ended
}

// start starts a server. One goroutine keeps the thread that started it for as long as
// the server runs, because the parent-death signal belongs to that thread.
func start(l launch) (*child, error) {
	cmd, confined, err := l.command()
	if err != nil {
		l.log.Close()
		return nil, err
	}
	c := &child{ended: make(chan struct{})}
	started := make(chan error)
	go c.own(l, cmd, confined, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

func (l launch) command() (*exec.Cmd, tool.Confined, error) {
	path, err := lookPath(l.server.Command, l.server.Env, l.dir)
	if err != nil {
		return nil, tool.Confined{}, err
	}
	confined := tool.Confined{Path: path, Args: l.server.Args}
	if l.confine != nil {
		if confined, err = l.confine.Confine(path, l.server.Args); err != nil {
			return nil, confined, err
		}
	}
	cmd := exec.Command(confined.Path, confined.Args...)
	cmd.Dir = l.dir
	cmd.Env = append(append([]string{}, l.server.Env...), process.Mark+"="+l.mark)
	cmd.Env = append(cmd.Env, confined.Env...)
	cmd.ExtraFiles = confined.Files
	cmd.Stderr = l.log
	cmd.WaitDelay = grace // for a process that still holds stderr
	cmd.SysProcAttr = process.StartWithin(process.DyingGroup(), confined.Group)
	return cmd, confined, nil
}

// lookPath finds a program in the PATH that the server gets.
func lookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if strings.HasPrefix(name, "/") {
			return name, nil
		}
		return dir + "/" + name, nil
	}
	for _, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, folder := range strings.Split(list, ":") {
			if info, err := os.Stat(folder + "/" + name); strings.HasPrefix(folder, "/") && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return folder + "/" + name, nil
			}
		}
	}
	return "", fika.Errorf(fika.Failed, "", "there is no program %s in PATH: install it, or give its path as command", name)
}

// own starts the process, waits for its end and ends what it leaves behind.
func (c *child) own(l launch, cmd *exec.Cmd, confined tool.Confined, started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	defer close(c.ended)
	defer l.log.Close()
	err := c.begin(l, cmd)
	confined.Started()
	if err != nil {
		confined.Ended()
		c.ending("could not be started: " + err.Error())
		started <- fika.Wrap(fika.Failed, "start "+l.server.Command, err)
		return
	}
	pid := cmd.Process.Pid
	c.pid = pid
	started <- nil
	zombie := process.AwaitExit(pid) // a zombie still holds its pid: signals are safe
	if !zombie {
		err = cmd.Wait()
	}
	_ = process.SignalGroup(pid, syscall.SIGKILL) // what it left behind
	if l.children != nil {
		l.children.EndLeft(pid)
	}
	if zombie {
		err = cmd.Wait()
	}
	if l.children != nil {
		l.children.Forget(pid)
	}
	confined.Ended()
	c.ending(exitWords(cmd, err))
}

func (c *child) begin(l launch, cmd *exec.Cmd) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	// Not StdoutPipe, because Wait closes it before everything has been read.
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	cmd.Stdout = w
	c.stdin, c.stdout = in, newMessages(out, l.log)
	if l.children != nil {
		err = l.children.Serve(cmd, l.mark)
	} else {
		err = cmd.Start()
	}
	if err != nil {
		out.Close()
	}
	return err
}

func exitWords(cmd *exec.Cmd, err error) string {
	state := cmd.ProcessState
	if state == nil {
		return fmt.Sprintf("ended (%v)", err)
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return "was ended by a signal (" + ws.Signal().String() + ")"
	}
	return fmt.Sprintf("ended with exit status %d", state.ExitCode())
}

func (c *child) ending(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why = why
}

// broken returns why the process can no longer be spoken to, or "" if it can. A process
// that has closed its stdout is given a moment to end, because its exit status says more.
func (c *child) broken() string {
	why, closed := c.stdout.broken()
	if why != "" {
		return why
	}
	if closed {
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-c.ended:
		case <-t.C:
			return "it closed its stdout"
		}
	}
	select {
	case <-c.ended:
	default:
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return "it " + c.why
}

// end ends the process: it closes stdin, then sends SIGTERM, then SIGKILL. It returns
// when the process is gone.
func (c *child) end() {
	_ = c.stdin.Close()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t := time.NewTimer(grace)
		select {
		case <-c.ended:
			t.Stop()
			return
		case <-t.C:
			_ = process.SignalGroup(c.pid, sig)
		}
	}
	<-c.ended
}
