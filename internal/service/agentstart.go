package service

import (
	"context"
	"time"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

// startPatience is how long a start may go without a sign of life when the process
// keeps crashing.
const startPatience = 3 * time.Second

// Start commits that an agent is to run and waits for its first sign of life. It is not
// an error if the agent already runs. If the agent gives no sign of life in time, or
// fails, the error says why and includes the end of its log.
func (s *Agents) Start(ctx context.Context, row fika.Agent, timeout time.Duration) (AgentView, error) {
	if err := s.c.may("agent.start"); err != nil {
		return AgentView{}, err
	}
	v, err := s.View(ctx, string(row.Name))
	if err != nil {
		return v, err
	}
	if row.IsPool() {
		return v, s.eachMember(ctx, row, func(m fika.Agent) error {
			_, err := s.Start(ctx, m, timeout)
			return err
		})
	}
	if v.Alive() && v.Status != AgentStopping && v.Status != fika.AgentUnhealthy {
		return v, s.c.store.SetDesired(ctx, row.ID, fika.DesiredRunning)
	}
	if v.Away {
		return s.startAway(ctx, v, timeout)
	}
	if !v.Entry {
		return v, fika.WithHint(fika.Errorf(fika.Invalid, "", "@%s has no [[agents]] entry, so the hub does not start it; add one to config.toml, or run it in a terminal", row.Name), hint.AgentRun.With(row.Name))
	}
	if _, up := s.c.home.HubProcess(); !up {
		return v, fika.WithHint(fika.Errorf(fika.NotFound, "", "no hub is running that could start @%s", row.Name), hint.Up)
	}
	if err := s.c.store.SetDesired(ctx, row.ID, fika.DesiredRunning); err != nil {
		return v, err
	}
	s.c.wakeHub(ctx, row.Name)
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
			return v, fika.Errorf(fika.Failed, "", "@%s does not start: %s", name, v.Row.StateReason)
		case v.Row.StateReason == "":
			crashing = time.Time{}
		case crashing.IsZero():
			crashing = time.Now()
		case time.Since(crashing) > startPatience:
			return v, fika.Errorf(fika.Failed, "", "@%s failed to start (the hub keeps trying): %s", name, v.Row.StateReason)
		}
		if sleep.For(waiting, lookEvery) != nil {
			if ctx.Err() != nil {
				return v, fika.Errorf(fika.Detached, "", "you stopped waiting; @%s continues starting", name)
			}
			return v, s.noSign(v)
		}
	}
}

// noSign returns the error for a start without a sign of life.
func (s *Agents) noSign(v AgentView) error {
	why := "the hub has not started it (" + hint.Doctor.With() + ")"
	if last := folder.LastLines(s.c.home.LogFile(v.Row.Name), 3); v.Status != fika.AgentStopped && last != "" {
		why = "its log ends: " + last
	}
	return fika.Errorf(fika.Failed, "", "@%s gives no sign of life yet: %s", v.Row.Name, why)
}

// startAway commits that an agent on another host is to run, and waits for its sign of life
// if a hub runs there.
func (s *Agents) startAway(ctx context.Context, v AgentView, timeout time.Duration) (AgentView, error) {
	if err := s.c.store.SetDesired(ctx, v.Row.ID, fika.DesiredRunning); err != nil {
		return v, err
	}
	away, err := s.c.hostOf(ctx, v.Row)
	if err != nil || away == nil {
		return v, err
	}
	if away.Name == "" {
		return v, fika.Errorf(fika.NotFound, "", "@%s is on no host: it starts on one with an [[agents]] entry for it", v.Row.Name)
	}
	if !away.Up && away.Demand != nil && away.Demand.Ready {
		return v, fika.WithHint(fika.Errorf(fika.NotFound, "", "@%s is on the host %s, which is %s: it is started when there is work", v.Row.Name, away.Name, away.StateWord()), hint.HostStart.With(away.Name))
	}
	if !away.Up {
		return v, fika.Errorf(fika.NotFound, "", "@%s is on the host %s, whose hub does not run: it starts when that is up", v.Row.Name, away.Name)
	}
	s.c.wakeHub(ctx, v.Row.Name)
	return s.awaitStart(ctx, v.Row.Name, timeout)
}
