package process

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"fika"
	"fika/internal/system/sleep"
)

// Mark is the environment variable that names the step a process works for.
const Mark = "FIKA_STEP"

// State is what the system says a process is doing.
type State string

// The states. Stopped is a process that was sent SIGSTOP (or is held by a debugger): it
// keeps its locks and answers nothing until SIGCONT. Unknown is a process that exists, on
// a platform that tells no more.
const (
	Gone    State = "gone" // no such process, or its pid now belongs to another
	Zombie  State = "zombie"
	Running State = "running"
	Stopped State = "stopped"
	Unknown State = "unknown"
)

// Alive reports whether exactly p still runs, stopped or not. A zombie does not run: it
// no longer holds anything.
func Alive(p fika.Process) bool {
	s := StateOf(p)
	return s != Gone && s != Zombie
}

// IdentifySelf identifies this process.
func IdentifySelf() fika.Process {
	p, _ := Identify(os.Getpid())
	return p
}

// Signal sends sig to exactly p. It is no error if p has ended, before the signal or
// while it is sent.
func Signal(p fika.Process, sig syscall.Signal) error {
	if p.PID <= 1 || !Alive(p) {
		return nil
	}
	if err := sendSignal(p, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fika.Wrap(fika.Failed, "signal process", err)
	}
	return nil
}

// SignalAwake sends sig to exactly p, and continues p if it is stopped: a stopped process
// receives nothing but SIGKILL.
func SignalAwake(p fika.Process, sig syscall.Signal) error {
	if err := Signal(p, sig); err != nil {
		return err
	}
	return Signal(p, syscall.SIGCONT)
}

// IsStopped reports whether p is stopped by SIGSTOP: it runs and does nothing. It is false
// if that is not known.
func IsStopped(p fika.Process) bool { return StateOf(p) == Stopped }

// Kill ends exactly p at once and waits at most 2 s until it is gone. The processes that
// p started go on: see [EndTree].
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
