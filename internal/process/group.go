package process

import (
	"context"
	"errors"
	"syscall"
	"time"

	"fika"
	"fika/internal/sleep"
)

// OwnGroup is what a process needs to lead a group of its own that [EndGroup] can
// end, without dying with the thread that starts it: for processes that
// outlive fika's own. The group has a session of its own too, and so no
// terminal: what asks for a password fails at once and does not stop for ever.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// SignalGroup signals every process of a group; none left is no error.
func SignalGroup(pgid int, sig syscall.Signal) error {
	if pgid <= 1 {
		return errors.New("no process group") // -1 would mean everybody
	}
	if err := syscall.Kill(-pgid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// EndGroup ends the process group led by p: TERM, and KILL when something of
// it still runs after grace, or at once when ctx ends. It returns when the
// group is gone. If p does not run any more (or its pid is somebody else's
// now) nothing is signalled and nil is returned: [EndMarked] finds what it
// left. Kind Failed: the group is still there.
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

// awaitGone looks until the group is gone; false when ctx ended first. The
// kernel tells nobody but a parent of a process's end, so others look again.
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
