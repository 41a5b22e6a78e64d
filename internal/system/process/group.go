package process

import (
	"context"
	"errors"
	"syscall"
	"time"

	"fika"
	"fika/internal/system/sleep"
)

// OwnGroup returns the attributes of a process that leads a group of its own, which
// [EndGroup] can end, and that does not die with the thread that starts it: for processes
// that outlive fika's own. The group also has a session of its own, and so no terminal: a
// program that asks for a password fails at once instead of stopping for ever.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// SignalGroup signals every process of a group. It is no error if the group is empty.
func SignalGroup(pgid int, sig syscall.Signal) error {
	if pgid <= 1 {
		return errors.New("no process group") // -1 would mean everybody
	}
	if err := syscall.Kill(-pgid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// EndGroup ends the process group led by p: with TERM, and with KILL if part of it still
// runs after grace, or at once when ctx ends. It returns when the group is gone. If p no
// longer runs, or its pid now belongs to another process, nothing is signalled and nil is
// returned: [EndMarked] finds what it left. Error kind: Failed when the group is still
// there.
func EndGroup(ctx context.Context, p fika.Process, grace time.Duration) error {
	if p.PID <= 1 || !Alive(p) {
		return nil
	}
	if err := SignalGroup(p.PID, syscall.SIGTERM); err != nil {
		return fika.Wrap(fika.Failed, "end process group", err)
	}
	_ = SignalGroup(p.PID, syscall.SIGCONT) // a stopped process cannot hear TERM
	polite, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if awaitGone(polite, p.PID) {
		return nil
	}
	if err := SignalGroup(p.PID, syscall.SIGKILL); err != nil {
		return fika.Wrap(fika.Failed, "end process group", err)
	}
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancelLast()
	if !awaitGone(last, p.PID) {
		return fika.Errorf(fika.Failed, "end process group", "group %d is still there after KILL", p.PID)
	}
	return nil
}

// awaitGone polls until the group is gone; it returns false if ctx ends first. It polls
// because the kernel reports the end of a process only to its parent.
func awaitGone(ctx context.Context, pgid int) bool {
	pause := time.Millisecond
	for groupLives(pgid) {
		if sleep.For(ctx, pause) != nil {
			return false
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
	return true
}
