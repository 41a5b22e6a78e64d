package service

import (
	"context"
	"syscall"
	"time"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

// Stop commits that an agent is to stop and waits until its process has ended: after
// its current step (DesiredStopped, which hands back its unfinished work), after its
// current requests (DesiredFinish), or at once (DesiredNow). It needs no hub. The
// members of a pool are stopped one after the other. A process suspended by SIGSTOP is
// continued so that it can end. With DesiredNow, a process that does not end in time is
// killed together with everything it has started, identified so that a reused pid is
// safe. The returned view shows the agent before the stop.
func (s *Agents) Stop(ctx context.Context, row fika.Agent, how fika.Desired, timeout time.Duration) (AgentView, error) {
	if err := s.c.may("agent.stop"); err != nil {
		return AgentView{}, err
	}
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
	if before.Away {
		return before, s.awaitAway(waiting, before)
	}
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
			return before, fika.WithHint(fika.Errorf(fika.Detached, "", "@%s (pid %d) has not stopped yet; it will when its current work allows (%s), or", row.Name, lock.Info.PID, hint.AgentList), hint.AgentStopNow.With(row.Name))
		}
	}
}

// signalStop tells a process to end. Its row says so already. Only signals that may
// arrive twice are sent here, because the hub may send one too.
func signalStop(p fika.Process, how fika.Desired) {
	sig := syscall.SIGCONT
	if how == fika.DesiredNow {
		sig = process.StopSignal(how)
	}
	_ = process.SignalAwake(p, sig)
}

// settleDesired replaces the way of stopping by a plain "stopped", as the hub does if
// one runs.
func (s *Agents) settleDesired(ctx context.Context, row fika.Agent) error {
	now, err := s.c.store.Agent(ctx, row.Name)
	if err != nil || !now.Desired.Stopped() || now.Desired == fika.DesiredStopped {
		return err
	}
	return s.c.store.ReplaceDesired(ctx, row.ID, now.Desired, fika.DesiredStopped)
}

// awaitAway waits until an agent on another host holds no lease any more. Its own hub ends
// its process.
func (s *Agents) awaitAway(ctx context.Context, before AgentView) error {
	for {
		row, err := s.c.store.Agent(ctx, before.Row.Name)
		switch {
		case err == nil && (row.Owner == "" || !row.LeaseUntil.After(s.c.now())):
			return nil
		case err != nil && ctx.Err() == nil:
			return err
		}
		if sleep.For(ctx, pollEvery) != nil {
			return fika.WithHint(fika.Errorf(fika.Detached, "", "@%s (on %s) has not stopped yet; it will when its current work allows", before.Row.Name, before.Host), hint.AgentList.With())
		}
	}
}
