package app

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"fika"
	"fika/internal/clock"
	"fika/internal/folder"
	"fika/internal/process"
)

// lookEvery is how often a waiting command looks at locks and rows.
const lookEvery = 50 * time.Millisecond

// patience is how long a start may stay without a sign of life when the
// process keeps crashing.
const patience = 3 * time.Second

// Start commits that an agent is to run and waits for its first sign of life.
// An agent that runs already is no error. Without one in time, or when it
// fails, the error says why, with the end of its log.
func (s *Agents) Start(ctx context.Context, row fika.Agent, timeout time.Duration) (AgentView, error) {
	v, err := s.View(ctx, string(row.Name))
	if err != nil {
		return v, err
	}
	if v.Alive() && v.Status != AgentStopping && v.Status != fika.AgentUnhealthy {
		return v, s.Client.Store.SetDesired(ctx, row.ID, fika.DesiredRunning)
	}
	if !v.Entry {
		return v, fika.Errorf(fika.Invalid, "", "@%s has no [[agents]] entry, so the hub does not start it; add one to config.toml, or run it in a terminal: fika agent run %s", row.Name, row.Name)
	}
	if _, up := s.home.HubProcess(); !up {
		return v, fika.Errorf(fika.NotFound, "", "no hub is running that could start @%s: fika up", row.Name)
	}
	if err := s.Client.Store.SetDesired(ctx, row.ID, fika.DesiredRunning); err != nil {
		return v, err
	}
	s.ring(ctx, row.Name)
	return s.awaitStart(ctx, row.Name, timeout)
}

func (s *Agents) awaitStart(ctx context.Context, name fika.AgentName, timeout time.Duration) (AgentView, error) {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var crashing time.Time
	for {
		v, err := s.View(ctx, string(name))
		if err != nil {
			return v, err
		}
		switch {
		case v.Alive() && (v.Status == fika.AgentIdle || v.Status == fika.AgentBusy):
			return v, nil
		case v.Status == fika.AgentFailed:
			return v, fika.Errorf(fika.Failed, "", "@%s does not start: %s", name, v.Why)
		case v.Row.StateReason == "":
			crashing = time.Time{}
		case crashing.IsZero():
			crashing = time.Now()
		case time.Since(crashing) > patience:
			return v, fika.Errorf(fika.Failed, "", "@%s does not come up (the hub keeps trying): %s", name, v.Row.StateReason)
		}
		if clock.Sleep(waiting, lookEvery) != nil {
			if ctx.Err() != nil {
				return v, fika.Errorf(fika.Detached, "", "you stopped waiting; @%s goes on starting", name)
			}
			return v, s.noSign(v)
		}
	}
}

// noSign explains a start that nobody answered.
func (s *Agents) noSign(v AgentView) error {
	why := "the hub has not started it; a hub reads config.toml when it starts (fika down, fika up)"
	if last := folder.LastLines(s.home.LogFile(v.Row.Name), 3); v.Status != fika.AgentStopped && last != "" {
		why = "its log ends: " + last
	}
	return fika.Errorf(fika.Failed, "", "@%s gives no sign of life yet: %s", v.Row.Name, why)
}

// Stop commits that an agent is to stop and waits until its process has gone:
// after its current step (DesiredStopped, what it works on is handed back),
// after its current requests (DesiredFinish), or at once (DesiredNow). It
// needs no hub. A process that was stopped (SIGSTOP) goes on for that; one that
// does not end at once although it is to is killed with all that it has
// started, known by its identity. The view is of before.
func (s *Agents) Stop(ctx context.Context, row fika.Agent, how fika.Desired, timeout time.Duration) (AgentView, error) {
	before, err := s.View(ctx, string(row.Name))
	if err != nil {
		return before, err
	}
	if !before.Alive() {
		how = fika.DesiredStopped
	}
	if err := s.Client.Store.SetDesired(ctx, row.ID, how); err != nil {
		return before, err
	}
	s.ring(ctx, row.Name)
	procs := &processes{home: s.home}
	if holder, _, held := procs.Holder(row.Name); held {
		wake(holder, how)
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for began := time.Now(); ; {
		lock, err := s.home.Folder(row.Name).Inspect()
		if err != nil {
			return before, err
		}
		if !lock.Held || lock.Info.Kind != folder.LockAgent {
			return before, s.settle(ctx, row)
		}
		if how == fika.DesiredNow && time.Since(began) > nowGrace {
			procs.Kill(lock.Info.Process())
		}
		if clock.Sleep(waiting, lookEvery) != nil {
			return before, fika.Errorf(fika.Detached, "", "@%s (pid %d) has not stopped yet; it will when its current work allows (fika agent list), or: fika agent stop --now %s", row.Name, lock.Info.PID, row.Name)
		}
	}
}

// wake lets a process hear that it is to end. The wish is in its row; the
// signal that is sent here is one that may come twice, since the hub may send
// one too.
func wake(p fika.Process, how fika.Desired) {
	sig := syscall.SIGCONT
	if how == fika.DesiredNow {
		sig = process.StopSignal(how)
	}
	_ = process.Wake(p, sig)
}

// StopLeft ends the agents that have outlived their hub, as the hub does when
// it goes down: in the way that how says, and the hard way after 30 s (or 4 s,
// if they are to end at once), unless they are to finish. Nothing is wished for: they are started again as if the hub had stopped them. It
// gives their names.
func (s *Agents) StopLeft(ctx context.Context, how fika.Desired) ([]fika.AgentName, error) {
	views, err := s.List(ctx, true)
	if err != nil {
		return nil, err
	}
	procs := &processes{home: s.home}
	left := map[fika.AgentName]fika.Process{}
	var names []fika.AgentName
	for _, v := range views {
		if p, _, held := procs.Holder(v.Row.Name); held {
			left[v.Row.Name] = p
			names = append(names, v.Row.Name)
			procs.Terminate(p, how)
		}
	}
	var hard <-chan time.Time
	if how != fika.DesiredFinish {
		grace := stopGrace
		if how == fika.DesiredNow {
			grace = nowGrace
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		hard = timer.C
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for len(left) > 0 {
		for n, p := range left {
			if !procs.Alive(p) {
				delete(left, n)
			}
		}
		select {
		case <-ctx.Done():
			return names, fika.Wrap(fika.Detached, "down", ctx.Err())
		case <-hard:
			for _, p := range left {
				procs.Kill(p)
			}
		case <-look.C:
		}
	}
	return names, nil
}

// settle makes the way to stop a mere "stopped", as the hub does if there is one.
func (s *Agents) settle(ctx context.Context, row fika.Agent) error {
	now, err := s.Client.Store.Agent(ctx, row.Name)
	if err != nil || !now.Desired.Stopped() || now.Desired == fika.DesiredStopped {
		return err
	}
	return s.Client.Store.ReplaceDesired(ctx, row.ID, now.Desired, fika.DesiredStopped)
}

// Reset gives an agent a new, empty ask conversation; the old one stays.
func (s *Agents) Reset(ctx context.Context, row fika.Agent) (fika.Conversation, error) {
	conv, err := s.Client.Store.ResetAsk(ctx, row.ID)
	if err == nil {
		s.ring(ctx, row.Name)
	}
	return conv, err
}

// Switch makes another ask conversation the agent's active one.
func (s *Agents) Switch(ctx context.Context, row fika.Agent, name string) (fika.Conversation, error) {
	n, err := fika.ParseConversationName(name)
	if err != nil {
		return fika.Conversation{}, err
	}
	conv, err := s.Client.Store.Conversation(ctx, n)
	if err != nil {
		return conv, err
	}
	if conv.Kind != fika.Ask || conv.Agent != row.ID {
		return conv, fika.Errorf(fika.Invalid, "", "%s is not an ask conversation of @%s; fika conversation list --agent %s --kind ask shows them", n, row.Name, row.Name)
	}
	if err := s.Client.Store.SwitchAsk(ctx, row.ID, conv.ID); err != nil {
		return conv, err
	}
	s.ring(ctx, row.Name)
	return conv, nil
}

func (s *Agents) ring(ctx context.Context, name fika.AgentName) {
	s.Client.Ring(name)
	s.Client.RingHub()
	_ = s.Client.Bus.Flush(ctx)
}

// LogFile is where the output of an agent goes that the hub starts.
func (s *Agents) LogFile(name fika.AgentName) string { return s.home.LogFile(name) }

// Summary says how a list of agents is, as one line.
func Summary(views []AgentView) string {
	running, bad := 0, 0
	for _, v := range views {
		if v.Alive() {
			running++
		}
		if v.Trouble != "" {
			bad++
		}
	}
	switch {
	case len(views) == 0:
		return "No agents are configured"
	case bad == 0:
		return fmt.Sprintf("All agents healthy (%d/%d running)", running, len(views))
	default:
		return fmt.Sprintf("%d of %d agents need attention (%d/%d running)", bad, len(views), running, len(views))
	}
}
