package client

import (
	"context"
	"syscall"
	"time"

	"fika"
	"fika/internal/folder"
	"fika/internal/process"
	"fika/internal/sleep"
)

// Stop commits that an agent is to stop and waits until its process has gone:
// after its current step (DesiredStopped, what it works on is handed back),
// after its current requests (DesiredFinish), or at once (DesiredNow). It
// needs no hub. A pool's members are stopped, one after the other. A process that was stopped (SIGSTOP) goes on for that; one that
// does not end at once although it is to is killed with all that it has
// started, known by its identity. The view is of before.
func (s *Agents) Stop(ctx context.Context, row fika.Agent, how fika.Desired, timeout time.Duration) (AgentView, error) {
	before, err := s.View(ctx, string(row.Name))
	if err != nil {
		return before, err
	}
	if row.IsPool() {
		return before, s.eachMember(ctx, row, func(m fika.Agent) error {
			_, err := s.Stop(ctx, m, how, timeout)
			return err
		})
	}
	if !before.Alive() {
		how = fika.DesiredStopped
	}
	if err := s.c.store.SetDesired(ctx, row.ID, how); err != nil {
		return before, err
	}
	s.c.wakeHub(ctx, row.Name)
	if holder, held := agentProcess(s.c.home, row.Name); held {
		signalStop(holder, how)
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for began := time.Now(); ; {
		lock, err := s.c.home.Folder(row.Name).Inspect()
		if err != nil {
			return before, err
		}
		if !lock.Held || lock.Info.Kind != folder.LockAgent {
			return before, s.settleDesired(ctx, row)
		}
		if how == fika.DesiredNow && time.Since(began) > nowGrace {
			_ = process.EndTree(lock.Info.Process())
		}
		if sleep.For(waiting, lookEvery) != nil {
			return before, fika.Errorf(fika.Detached, "", "@%s (pid %d) has not stopped yet; it will when its current work allows (fika agent list), or: fika agent stop --now %s", row.Name, lock.Info.PID, row.Name)
		}
	}
}

// signalStop lets a process hear that it is to end. Its row says so already; the
// signal that is sent here is one that may come twice, since the hub may send
// one too.
func signalStop(p fika.Process, how fika.Desired) {
	sig := syscall.SIGCONT
	if how == fika.DesiredNow {
		sig = process.StopSignal(how)
	}
	_ = process.SignalAwake(p, sig)
}

// settleDesired makes the way to stop a mere "stopped", as the hub does if there is one.
func (s *Agents) settleDesired(ctx context.Context, row fika.Agent) error {
	now, err := s.c.store.Agent(ctx, row.Name)
	if err != nil || !now.Desired.Stopped() || now.Desired == fika.DesiredStopped {
		return err
	}
	return s.c.store.ReplaceDesired(ctx, row.ID, now.Desired, fika.DesiredStopped)
}
