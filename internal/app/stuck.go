package app

import (
	"context"
	"fmt"
	"time"

	"fika"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
	"fika/internal/clock"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/process"
)

const (
	// dialPatience bounds how long a command waits for a bus on this machine,
	// and farDialPatience for one elsewhere: the store has what matters.
	dialPatience    = time.Second
	farDialPatience = 2 * time.Second
	// hubLeaves is how long a hub that was told to end at once may take; its
	// agents have nowGrace of that.
	hubLeaves = 6 * time.Second
	// nowGrace is how long an agent that was told to end at once may take, and
	// stopGrace one that may finish its step.
	nowGrace  = 4 * time.Second
	stopGrace = 30 * time.Second
)

// HubStuck says why the hub of a home cannot do anything although it runs;
// empty when nothing is known to be wrong with it.
func HubStuck(p fika.Process) string {
	why := process.Stuck(p)
	if why == "" {
		return ""
	}
	return "the hub does not answer: " + why + ", fika down --now ends it"
}

// agentStuck says why an agent's process cannot do anything although it has
// the lock; empty when nothing is known to be wrong with it.
func agentStuck(name fika.AgentName, lock folder.LockState) string {
	why := ""
	if lock.Held {
		why = process.Stuck(lock.Info.Process())
	}
	if why == "" || lock.Info.Kind != folder.LockAgent {
		return why
	}
	return why + ", fika agent stop --now " + string(name) + " ends it"
}

// connectClient dials the bus for a command, which does not wait for a hub
// that does not answer. trouble says, when there is no bus, why.
func (a *App) connectClient(ctx context.Context, c *config.Config, h folder.Home, p fika.Process) (b bus.Bus, trouble string) {
	if why := HubStuck(p); why != "" {
		return bus.Nobody{}, why
	}
	began := time.Now()
	b, err := a.Bus(ctx, busnats.UserMember, false)
	switch {
	case err == nil:
		return b, ""
	case a.External(c, h):
		return bus.Nobody{}, "the bus does not answer: " + err.Error()
	case fika.IsKind(err, fika.Invalid): // run/hub.json or run/credentials
		return bus.Nobody{}, fmt.Sprintf("the hub (pid %d) runs and cannot be found: %v", p.PID, err)
	case time.Since(began) < dialPatience/2: // it is only just starting or ending
		a.Log().Warn("no bus", "err", err)
		return bus.Nobody{}, ""
	}
	return bus.Nobody{}, fmt.Sprintf("the hub (pid %d) does not answer: %v; fika down --now ends it", p.PID, err)
}

// Stuck says why the process of an agent cannot do anything although it runs;
// empty when nothing is known to be wrong with it.
func (c *Client) Stuck(name fika.AgentName) string {
	lock, err := c.home.Folder(name).Inspect()
	if err != nil {
		return ""
	}
	if why := agentStuck(name, lock); why != "" {
		return "@" + string(name) + " does not answer: " + why
	}
	return ""
}

// EndHub tells the hub p of a home to end in the way that how says, and waits
// until it has gone. One that was stopped (SIGSTOP) goes on for that. With
// DesiredNow a hub that does not end is killed, and then its agents are ended
// as [Agents.StopLeft] does, whose names are returned; else the end of ctx
// gives kind Detached.
func (a *App) EndHub(ctx context.Context, p fika.Process, how fika.Desired) (killed bool, left []fika.AgentName, err error) {
	if err := process.Wake(p, process.StopSignal(how)); err != nil {
		return false, nil, fika.Wrap(fika.Denied, "down", err)
	}
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if how == fika.DesiredNow {
		waiting, cancel = context.WithTimeout(ctx, hubLeaves)
	}
	defer cancel()
	for process.Alive(p) && clock.Sleep(waiting, lookEvery/5) == nil {
	}
	switch {
	case !process.Alive(p):
		return false, nil, nil
	case ctx.Err() != nil || how != fika.DesiredNow:
		return false, nil, fika.Errorf(fika.Detached, "down", "the hub (pid %d) is still stopping its agents; fika status shows when it is gone, fika down --now ends it", p.PID)
	}
	if err := process.Kill(p); err != nil {
		return false, nil, err
	}
	agents, err := a.Agents(ctx)
	if err != nil {
		return true, nil, err
	}
	left, err = agents.StopLeft(ctx, how)
	return true, left, err
}
