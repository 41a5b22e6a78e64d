package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"fika"
	"fika/internal/system/crash"
	"fika/internal/system/process"
	"fika/internal/tool"
)

// Cmd describes what to run. The process inherits nothing else.
type Cmd struct {
	Path string   // a path, or a name that is looked up in fika's own PATH
	Args []string // without the program's own name
	Dir  string
	Env  []string // the exact environment; the mark is added
	Step string   // request/n or job/id, the mark; "": none
	// Stays says that other commands run and end beside this one: what carries its mark is
	// left alone until it ends itself.
	Stays bool
	// Children of this process, among which the command is started, so that what it
	// leaves behind is ended with it. nil: only its group is ended and, when ctx ends
	// it, everything that carries its mark.
	Children *process.Children
	// Confine limits what the process can touch; nil: nothing does.
	Confine tool.Confinement

	Stdin    io.Reader    // nil: /dev/null
	Stderr   io.Writer    // nil: together with stdout
	Limits   tool.Limits  // of the captured output
	Progress func([]byte) // called with output as it comes, in order; each slice is the callee's to keep; may be nil
	Started  func(fika.Process)

	Grace time.Duration // between TERM and KILL; 0: 2 s
	Drain time.Duration // wait for a pipe that a runaway child holds; 0: 500 ms
}

// Exit says how a process ended, and holds its output.
type Exit struct {
	Code     int    // exit status; 128 + signal when a signal ended it
	Signal   string // name of the signal that ended it, else ""
	Output   tool.Captured
	Proc     fika.Process
	Withheld tool.Withheld
	Traffic  tool.Traffic // of a process that has a proxy
	Undone   []string     // changes to protected files that were taken back, one line each
}

// Run runs c to its end. It fails with kind Failed if the process could not be started,
// Denied if it could not be confined, and Interrupted, with the context's error as
// cause, if ctx ended it; the [Exit] then has what was captured so far. A non-zero exit
// code is not an error.
func Run(ctx context.Context, c Cmd) (Exit, error) {
	if err := context.Cause(ctx); err != nil {
		return Exit{}, fika.Wrap(fika.Interrupted, "run "+c.Path, err)
	}
	// The parent-death signal is tied to the thread that forks: keep that thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	r := &running{cmd: c, out: tool.NewOutput(c.Step, c.Limits)}
	if err := r.confineCommand(); err != nil {
		return Exit{}, err
	}
	if err := r.startProcess(); err != nil {
		return Exit{Undone: r.confined.Ended()}, fika.Wrap(fika.Failed, "run "+c.Path, err)
	}
	stopWatch := r.endWith(ctx)
	var err error
	zombie := process.AwaitExit(r.exec.Process.Pid) // a zombie still holds its pid: signals are safe
	if !zombie {
		err = r.exec.Wait()
	}
	ended := stopWatch()
	_ = process.SignalGroup(r.exec.Process.Pid, syscall.SIGKILL) // processes it left behind
	r.endLeft(ended)
	if zombie {
		err = r.exec.Wait()
	}
	r.forgetProcess()
	r.drainOutput(ended)
	crash.Point("tool exit")

	e := r.exitOf(err)
	e.Undone = r.confined.Ended()
	e.Withheld = r.confined.Withheld
	if r.confined.Traffic != nil {
		e.Traffic = *r.confined.Traffic
	}
	crash.Point("tool undone")
	if ended {
		return e, fika.Wrap(fika.Interrupted, "run "+c.Path, context.Cause(ctx))
	}
	return e, nil
}

// running is one process between its start and its end.
type running struct {
	cmd      Cmd
	confined tool.Confined
	exec     *exec.Cmd
	out      *tool.Output
	proc     fika.Process
	pipe     *os.File // read end of stdout
	copied   chan struct{}
}

// confineCommand determines what is executed.
func (r *running) confineCommand() (err error) {
	if r.cmd.Confine == nil {
		r.confined = tool.Confined{Path: r.cmd.Path, Args: r.cmd.Args}
		return nil
	}
	path := r.cmd.Path
	if !strings.Contains(path, "/") {
		if path, err = exec.LookPath(path); err != nil {
			return fika.Wrap(fika.Failed, "run "+r.cmd.Path, err)
		}
	}
	r.confined, err = r.cmd.Confine.Confine(path, r.cmd.Args)
	return err
}

func (r *running) startProcess() error {
	pr, pw, err := os.Pipe()
	if err != nil {
		return err
	}
	defer pw.Close()
	defer r.confined.Started()
	r.exec = exec.Command(r.confined.Path, r.confined.Args...)
	r.exec.Dir = r.cmd.Dir
	r.exec.Env = append(childEnvironment(r.cmd), r.confined.Env...)
	r.exec.ExtraFiles = r.confined.Files
	r.exec.Stdout, r.exec.Stderr = pw, pw
	if r.cmd.Stderr != nil {
		r.exec.Stderr = r.cmd.Stderr
	}
	r.exec.WaitDelay = r.drainTime() // for a Stderr that is not a file
	r.exec.SysProcAttr = process.StartAs(process.StartWithin(process.DyingGroup(), r.confined.Group), r.confined.User)
	stdin, err := r.openStdin()
	if err == nil {
		crash.Point("tool start.before")
		err = r.forkProcess()
	}
	if err != nil {
		pr.Close()
		return err
	}
	crash.Point("tool start.after")
	r.pipe, r.copied = pr, make(chan struct{})
	go r.copyOutput()
	if stdin != nil {
		go feedStdin(stdin, r.cmd.Stdin)
	}
	r.proc, _ = process.Identify(r.exec.Process.Pid)
	if r.cmd.Started != nil {
		r.cmd.Started(r.proc)
	}
	return nil
}

func (r *running) forkProcess() error {
	if r.cmd.Children == nil {
		return r.exec.Start()
	}
	if r.cmd.Stays {
		return r.cmd.Children.Serve(r.exec, r.cmd.Step)
	}
	return r.cmd.Children.Start(r.exec, r.cmd.Step)
}

// endLeft ends the processes that have left the group. It is called while the process is
// still a zombie, so that everything it started is an orphan.
func (r *running) endLeft(cancelled bool) {
	if r.cmd.Children != nil {
		r.cmd.Children.EndLeft(r.exec.Process.Pid)
	}
	if cancelled {
		process.EndMarked(r.cmd.Step)
	}
}

func (r *running) forgetProcess() {
	if r.cmd.Children != nil {
		r.cmd.Children.Forget(r.exec.Process.Pid)
	}
}

// openStdin connects the process's input: a file directly, anything else through a pipe
// whose write end is returned. A terminal also goes through a pipe, because it is not
// the terminal of the process's own session.
func (r *running) openStdin() (io.WriteCloser, error) {
	if r.cmd.Stdin == nil {
		return nil, nil
	}
	if f, ok := r.cmd.Stdin.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
			r.exec.Stdin = f
			return nil, nil
		}
	}
	return r.exec.StdinPipe() // Wait closes it, which ends feedStdin's next write
}

// feedStdin copies from to w. It is not joined when from blocks in Read, as a terminal
// does: nothing can wake it, and it no longer touches the run.
func feedStdin(w io.WriteCloser, from io.Reader) {
	// Plain reads and writes, because a copy inside the kernel would hold w while from
	// blocks, and Wait could not close it.
	_, _ = io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{from})
	_ = w.Close()
}

func childEnvironment(c Cmd) []string {
	// Never nil, because os/exec takes nil for "inherit".
	env := append(make([]string, 0, len(c.Env)+1), c.Env...)
	if c.Step != "" {
		env = append(env, process.Mark+"="+c.Step)
	}
	return env
}

// copyOutput reads the output until every holder of the pipe has closed it, or
// drainOutput has given up.
func (r *running) copyOutput() {
	defer close(r.copied)
	buf := make([]byte, 32<<10)
	for {
		n, err := r.pipe.Read(buf)
		if n > 0 {
			_, _ = r.out.Write(buf[:n])
			if r.cmd.Progress != nil {
				r.cmd.Progress(append([]byte(nil), buf[:n]...))
			}
		}
		if err != nil {
			return
		}
	}
}

// endWith ends the group when ctx ends: TERM, and KILL after the grace. The returned
// function stops and joins the watcher, and reports whether it had to act.
func (r *running) endWith(ctx context.Context) func() bool {
	if ctx.Done() == nil {
		return func() bool { return false }
	}
	ended := false
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			ended = true
		}
		pid := r.exec.Process.Pid
		_ = process.SignalGroup(pid, syscall.SIGTERM)
		_ = process.SignalGroup(pid, syscall.SIGCONT) // a stopped process cannot hear TERM
		grace := time.NewTimer(orDefault(r.cmd.Grace, 2*time.Second))
		defer grace.Stop()
		select {
		case <-stop:
		case <-grace.C:
			_ = process.SignalGroup(pid, syscall.SIGKILL)
		}
	})
	return func() bool {
		close(stop)
		done.Wait()
		return ended
	}
}

// drainOutput waits for the copy to end. The group is dead, so that only processes that
// have left it can still hold the pipe, and they must not hold us. The wait ends with a
// deadline on the pipe, so that data already in it is not lost.
func (r *running) drainOutput(ended bool) {
	defer r.pipe.Close()
	select {
	case <-r.copied:
		return
	default:
	}
	wait := r.drainTime()
	if ended {
		wait = min(wait, 100*time.Millisecond)
	}
	if err := r.pipe.SetReadDeadline(time.Now().Add(wait)); err != nil {
		r.pipe.Close()
	}
	<-r.copied
}

func (r *running) drainTime() time.Duration {
	return orDefault(r.cmd.Drain, 500*time.Millisecond)
}

func (r *running) exitOf(err error) Exit {
	e := Exit{Output: r.out.Finish(), Proc: r.proc}
	state := r.exec.ProcessState
	if state == nil {
		e.Code = -1
		return e
	}
	e.Code = state.ExitCode()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Code, e.Signal = 128+int(ws.Signal()), ws.Signal().String()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && e.Code == 0 && !errors.Is(err, exec.ErrWaitDelay) {
		e.Code = -1
	}
	return e
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}
