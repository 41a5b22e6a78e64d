package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"fika"
	"fika/internal/sleep"
)

// Mark is the environment variable that says which step a process works for.
const Mark = "FIKA_STEP"

// State is what the system says a process does.
type State string

// The states. Stopped is a process that was sent SIGSTOP (or is held by a
// debugger): it holds its locks and answers nothing until SIGCONT. Unknown is
// one that runs on a platform that tells no more.
const (
	Gone    State = "gone" // no such process, or its pid is somebody else's now
	Zombie  State = "zombie"
	Running State = "running"
	Stopped State = "stopped"
	Unknown State = "unknown"
)

// Alive reports whether exactly p still runs, stopped or not. A zombie does
// not run: it holds nothing any more.
func Alive(p fika.Process) bool {
	s := StateOf(p)
	return s != Gone && s != Zombie
}

// IdentifySelf identifies this process.
func IdentifySelf() fika.Process {
	p, _ := Identify(os.Getpid())
	return p
}

// Signal sends sig to exactly p. A process that does not run any more is not
// signalled, and that is no error; nor is a signal that came too late.
func Signal(p fika.Process, sig syscall.Signal) error {
	if p.PID <= 1 || !Alive(p) {
		return nil
	}
	if err := sendSignal(p, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fika.Wrap(fika.Failed, "signal process", err)
	}
	return nil
}

// SignalAwake sends sig to exactly p, and lets it go on if it is stopped: a stopped
// process hears nothing but SIGKILL.
func SignalAwake(p fika.Process, sig syscall.Signal) error {
	if err := Signal(p, sig); err != nil {
		return err
	}
	return Signal(p, syscall.SIGCONT)
}

// WhyStuck says in words that p is stopped and how a person lets it go on; empty
// when it is not, or when nobody can tell.
func WhyStuck(p fika.Process) string {
	if StateOf(p) != Stopped {
		return ""
	}
	return fmt.Sprintf("its process (pid %d) is stopped (SIGSTOP); kill -CONT %d lets it go on", p.PID, p.PID)
}

// Kill ends exactly p at once and waits, for 2 s at most, until it has gone.
// What it had started goes on: see [EndTree].
func Kill(p fika.Process) error {
	if err := Signal(p, syscall.SIGKILL); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for Alive(p) && sleep.For(ctx, time.Millisecond) == nil {
	}
	if Alive(p) {
		return fika.Errorf(fika.Failed, "end process", "process %d is still there after KILL", p.PID)
	}
	return nil
}
