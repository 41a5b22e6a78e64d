package proc

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
	"fika/internal/system/process"
	"fika/internal/tool"
)

// peerGrace is how long a peer has to end by itself when its stdin is closed, and again
// after SIGTERM.
const peerGrace = 2 * time.Second

// PeerCmd says how a peer is started.
type PeerCmd struct {
	Command string // a path, relative to Dir, or a name that is looked up in the PATH of Env
	Args    []string
	Dir     string
	Env     []string // the exact environment; the mark is added
	Mark    string
	Confine interface { // nil: nothing confines the process
		Confine(path string, args []string) (tool.Confined, error)
	}
	Children *process.Children // nil: only its group is ended with it
	Stderr   io.WriteCloser    // closed when the process has ended
}

// Peer is a program that is spoken to over its stdin and stdout, until one of the two ends.
type Peer struct {
	PID    int
	Stdin  io.WriteCloser
	Stdout io.ReadCloser // stays readable when the process has ended; for the caller to close
	ended  chan struct{}

	mu     sync.Mutex
	why    string // how the process ended
	undone []string
}

// StartPeer starts a peer. One goroutine keeps the thread that started it for as long as it
// runs, because the parent-death signal belongs to that thread. It fails with kind Failed
// if the program could not be started, or with the error of its confinement.
func StartPeer(c PeerCmd) (*Peer, error) {
	cmd, confined, err := c.command()
	if err != nil {
		c.Stderr.Close()
		return nil, err
	}
	p := &Peer{ended: make(chan struct{})}
	started := make(chan error)
	go p.own(c, cmd, confined, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (c PeerCmd) command() (*exec.Cmd, tool.Confined, error) {
	path, err := LookPath(c.Command, c.Env, c.Dir)
	if err != nil {
		return nil, tool.Confined{}, err
	}
	confined := tool.Confined{Path: path, Args: c.Args}
	if c.Confine != nil {
		if confined, err = c.Confine.Confine(path, c.Args); err != nil {
			return nil, confined, err
		}
	}
	cmd := exec.Command(confined.Path, confined.Args...)
	cmd.Dir = c.Dir
	cmd.Env = append(append([]string{}, c.Env...), process.Mark+"="+c.Mark)
	cmd.Env = append(cmd.Env, confined.Env...)
	cmd.ExtraFiles = confined.Files
	cmd.Stderr = c.Stderr
	cmd.WaitDelay = peerGrace // for a process that still holds stderr
	cmd.SysProcAttr = process.StartWithin(process.DyingGroup(), confined.Group)
	return cmd, confined, nil
}

// LookPath finds a program in the PATH of an environment; one with a slash is relative to
// dir. It fails with kind Failed.
func LookPath(name string, env []string, dir string) (string, error) {
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
	return "", fika.Errorf(fika.Failed, "", "program %s not found in PATH: install it, or give its path as command", name)
}

// own starts the process, waits for its end and ends what it leaves behind.
func (p *Peer) own(c PeerCmd, cmd *exec.Cmd, confined tool.Confined, started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	defer close(p.ended)
	defer c.Stderr.Close()
	err := p.begin(c, cmd)
	confined.Started()
	if err != nil {
		p.ending("could not be started: "+err.Error(), confined.Ended())
		started <- fika.Wrap(fika.Failed, "start "+c.Command, err)
		return
	}
	pid := cmd.Process.Pid
	p.PID = pid
	started <- nil
	zombie := process.AwaitExit(pid) // a zombie still holds its pid: signals are safe
	if !zombie {
		err = cmd.Wait()
	}
	_ = process.SignalGroup(pid, syscall.SIGKILL) // what it left behind
	if c.Children != nil {
		c.Children.EndLeft(pid)
	}
	if zombie {
		err = cmd.Wait()
	}
	if c.Children != nil {
		c.Children.Forget(pid)
	}
	p.ending(exitWords(cmd, err), confined.Ended())
}

func (p *Peer) begin(c PeerCmd, cmd *exec.Cmd) error {
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
	p.Stdin, p.Stdout = in, out
	if c.Children != nil {
		err = c.Children.Serve(cmd, c.Mark)
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

func (p *Peer) ending(why string, undone []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why, p.undone = why, undone
}

// Ended is closed when the process is gone, with everything it started.
func (p *Peer) Ended() <-chan struct{} { return p.ended }

// HowEnded says how the process ended, as in "ended with exit status 1", and what its
// confinement had to undo, one line each.
func (p *Peer) HowEnded() (why string, undone []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why, p.undone
}

// AwaitEnd gives a process that has closed its stdout a moment to end, because its exit
// status says more. It reports whether it has ended.
func (p *Peer) AwaitEnd() bool {
	t := time.NewTimer(peerGrace)
	defer t.Stop()
	select {
	case <-p.ended:
		return true
	case <-t.C:
		return false
	}
}

// Kill ends the process and its group at once, and does not wait.
func (p *Peer) Kill() { _ = process.SignalGroup(p.PID, syscall.SIGKILL) }

// End ends the process: it closes stdin, then sends SIGTERM, then SIGKILL. It returns when
// the process is gone. It may be called twice.
func (p *Peer) End() {
	_ = p.Stdin.Close()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if p.AwaitEnd() {
			return
		}
		_ = process.SignalGroup(p.PID, sig)
	}
	<-p.ended
}
