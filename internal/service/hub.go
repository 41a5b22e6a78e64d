package service

import (
	"context"
	"strconv"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	busnats "fika/internal/bus/nats"
	"fika/internal/settings/folder"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

// Hub starts and ends the hub of a home. It needs no store, so that a hub can be ended
// even if the store cannot be read.
type Hub struct{ app *app.App }

// HubOf returns the hub of the home that an App has opened.
func HubOf(a *app.App) *Hub { return &Hub{a} }

const (
	// hubLeaves is how long a hub that was told to end at once may take; its agents
	// have nowGrace of that.
	hubLeaves = 6 * time.Second
	// nowGrace is how long an agent that was told to end at once may take, and
	// stopGrace one that may finish its step.
	nowGrace  = 4 * time.Second
	stopGrace = 30 * time.Second
)

// Process returns the process of the hub, if one runs.
func (s *Hub) Process() (p fika.Process, up bool, err error) {
	h, err := s.app.Home()
	if err != nil {
		return p, false, err
	}
	p, up = h.HubProcess()
	return p, up, nil
}

// WasKilled reports whether the last hub of the home ended without shutting down.
func (s *Hub) WasKilled() bool {
	h, err := s.app.Home()
	return err == nil && h.HubKilled()
}

// HubStuck says why the hub of a home runs but cannot do anything; clear if nothing is
// known to be wrong with it.
func HubStuck(p fika.Process) api.Status {
	if !process.IsStopped(p) {
		return api.Status{}
	}
	return api.Stands(api.HubStuck, "pid", strconv.Itoa(p.PID))
}

// End tells the hub to end in the given way, and waits until it has ended. A hub
// suspended by SIGSTOP is continued for this. With DesiredNow a hub that does not end
// in time is killed, and then its agents are ended by [Hub.EndOrphans]; so are those of
// a hub that somebody else killed meanwhile. left holds the names of these agents. If
// ctx ends first, the error kind is Detached.
func (s *Hub) End(ctx context.Context, p fika.Process, how fika.Desired) (killed bool, left []fika.AgentName, err error) {
	if !process.Alive(p) {
		return false, nil, fika.Errorf(fika.Failed, "down", "process %d holds the hub's lock but cannot be told apart from others; end it by hand", p.PID)
	}
	if err := process.SignalAwake(p, process.StopSignal(how)); err != nil {
		return false, nil, fika.Wrap(fika.Denied, "down", err)
	}
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if how == fika.DesiredNow {
		waiting, cancel = context.WithTimeout(ctx, hubLeaves)
	}
	defer cancel()
	for process.Alive(p) && sleep.For(waiting, lookEvery/5) == nil {
	}
	switch {
	case !process.Alive(p):
		left, err = s.EndOrphans(ctx, how) // the hub may have been killed
		return false, left, err
	case ctx.Err() != nil || how != fika.DesiredNow:
		return false, nil, fika.Errorf(fika.Detached, "down", "the hub (pid %d) is still stopping its agents; %s shows when it is gone, %s ends it", p.PID, hint.Status, hint.DownNow)
	}
	if err := process.Kill(p); err != nil {
		return false, nil, err
	}
	left, err = s.EndOrphans(ctx, how)
	return true, left, err
}

// EndOrphans ends the agents that have outlived their hub, as the hub does on shutdown:
// in the given way, and by killing them after 30 s (or 4 s, if they are to end at
// once), unless they are to finish. Their desired state is not changed: they are
// started again as if the hub had stopped them. Executors are ended after them. It
// returns the names of the agents.
func (s *Hub) EndOrphans(ctx context.Context, how fika.Desired) ([]fika.AgentName, error) {
	h, err := s.app.Home()
	if err != nil {
		return nil, err
	}
	all, _, err := h.List()
	if err != nil {
		return nil, err
	}
	left := map[fika.AgentName]fika.Process{}
	var names []fika.AgentName
	for _, name := range all {
		if p, held := agentProcess(h, name); held {
			left[name] = p
			names = append(names, name)
			_ = process.SignalAwake(p, process.StopSignal(how))
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
			if !process.Alive(p) {
				delete(left, n)
			}
		}
		select {
		case <-ctx.Done():
			return names, fika.Wrap(fika.Detached, "down", ctx.Err())
		case <-hard:
			for _, p := range left {
				_ = process.EndTree(p)
			}
		case <-look.C:
		}
	}
	process.EndAll(h.ExecutorProcesses(), nowGrace)
	return names, nil
}

// agentProcess returns the agent process that holds a context.
func agentProcess(h folder.Home, name fika.AgentName) (fika.Process, bool) {
	lock, err := h.Folder(name).Inspect()
	if err != nil || !lock.Held || lock.Status == folder.LockFree || lock.Info.Kind != folder.LockAgent {
		return fika.Process{}, false
	}
	return lock.Info.Process(), true
}

// answers reports whether the bus of the home answers.
func (s *Hub) answers(ctx context.Context) bool {
	b, err := s.app.Bus(ctx, busnats.UserMember, false)
	if err != nil {
		return false
	}
	_ = b.Close() // the App closes it again, which does nothing
	return true
}
