package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
	"fika/internal/worker"
)

const (
	drainTime   = 10 * time.Minute // how long what a host that is to be stopped does may take to end
	firstAgain  = 30 * time.Second // after a start or a stop that has failed; doubles …
	longestWait = 15 * time.Minute // … up to this
	newsTravel  = 2 * time.Second  // between a change and a sign of life of whoever knows of it
)

// demand is how things stand with a host that starts on demand.
type demand struct {
	store.OnDemand
	now    time.Time // of the database
	up     bool
	seen   time.Time // when its hub last gave a sign of life
	wanted bool      // there is something that its agents can begin
	busy   bool      // its agents are at work, or have commands running
	held   bool      // somebody has one of its agents
}

// command is one of those that the settings have for a host.
type command int

const (
	noCommand command = iota
	startCommand
	stopCommand
)

// next returns what is to be stored of a host on demand as things stand, and which command is to
// be run once that is. It begins one only with a state that says so, so that whoever comes after
// a hub that was killed waits for what the command has done, and does not run it again.
func (d demand) next(within time.Duration) (store.OnDemand, command) {
	o := d.OnDemand
	become := func(s store.OnDemandState, lasts time.Duration) {
		o.State, o.Since, o.Until, o.Idle = s, d.now, d.now.Add(lasts), time.Time{}
	}
	rest := func() {
		o.State, o.Since, o.Until, o.Idle, o.Tries, o.Reason = store.OnDemandRests, d.now, time.Time{}, time.Time{}, 0, ""
	}
	over := !d.now.Before(o.Until)
	calls := o.Want == store.WantStart || d.wanted && o.Want != store.WantStop
	switch o.State {
	case store.OnDemandRests, store.OnDemandFailed, store.OnDemandStopped:
		switch {
		case d.up && o.State == store.OnDemandRests:
			return d.idle(o)
		case d.up && o.State == store.OnDemandStopped: // somebody has started it otherwise
			rest()
			o.Want = store.WantDemand
		case d.up:
			rest()
		case calls && over:
			become(store.OnDemandStarting, within)
			return o, startCommand
		case o.Want == store.WantStop && o.State != store.OnDemandStopped:
			rest()
			o.State = store.OnDemandStopped
		default:
			o.Idle = time.Time{}
		}
	case store.OnDemandStarting:
		if d.up {
			rest()
		} else if over {
			return d.failed(fmt.Sprintf("its hub was not up within %s of the command that starts it, with which whatever that leaves running ends", within)), noCommand
		}
	case store.OnDemandDraining:
		heard := d.seen.After(o.Since.Add(newsTravel))
		switch {
		case !d.up, o.Want == store.WantStart, o.Want != store.WantStop && (d.wanted || d.busy):
			rest()
		case heard && !d.held:
			become(store.OnDemandStopping, within)
			return o, stopCommand
		case over:
			return d.failed(fmt.Sprintf("its agents have not ended within %s", drainTime)), noCommand
		}
	case store.OnDemandStopping:
		if !d.up {
			rest()
		} else if over {
			return d.failed(fmt.Sprintf("its hub was still up %s after the command that stops it began", within)), noCommand
		}
	}
	return o, noCommand
}

// idle is next for a host that is up, and about which nothing is done.
func (d demand) idle(o store.OnDemand) (store.OnDemand, command) {
	if o.Want == store.WantStart {
		o.Want = store.WantDemand
	}
	switch {
	case d.wanted || d.busy:
		o.Idle = time.Time{}
	case o.Idle.IsZero():
		o.Idle = d.now
	}
	stop := o.Want == store.WantStop || !o.Idle.IsZero() && !d.now.Before(o.Idle.Add(o.IdleFor))
	if stop && o.Stops && !d.now.Before(o.Until) {
		o.State, o.Since, o.Until, o.Idle = store.OnDemandDraining, d.now, d.now.Add(drainTime), time.Time{}
	}
	return o, noCommand
}

// failed returns what is to be stored when the host could not be started or stopped. What is
// tried next waits longer each time.
func (d demand) failed(why string) store.OnDemand {
	o := d.OnDemand
	starting := o.State == store.OnDemandStarting
	o.State = store.OnDemandRests
	if starting {
		o.State = store.OnDemandFailed
	}
	o.Tries++
	o.Since, o.Until, o.Idle, o.Reason = d.now, d.now.Add(min(firstAgain<<min(o.Tries-1, 10), longestWait)), time.Time{}, why
	return o
}

// keepOnDemand starts and stops the hosts of which the settings say how, until ctx ends.
func (h hubHome) keepOnDemand(ctx context.Context) {
	if h.host == nil {
		return
	}
	var before []string
	h.keepEach(ctx, func(c *config.Config) map[string]any {
		names := slices.Sorted(maps.Keys(c.OnDemand))
		if before == nil || !slices.Equal(names, before) {
			if err := h.store.DropOnDemand(ctx, h.host.session.Host, names); err != nil {
				h.app.Log().Warn("hosts on demand", "err", err)
			}
			before = append([]string{}, names...)
		}
		out := map[string]any{}
		for name, entry := range c.OnDemand {
			out[name] = entry
		}
		return out
	}, func(ctx context.Context, name string, entry any) {
		h.whileHas(ctx, store.StartDuty(name), func(ctx context.Context) { h.attendHost(ctx, name, entry.(config.OnDemand)) })
	})
}

// attendHost looks after one host until ctx ends.
func (h hubHome) attendHost(ctx context.Context, name string, entry config.OnDemand) {
	said := ""
	for {
		err := h.lookAtHost(ctx, name, entry)
		if err != nil && ctx.Err() == nil && !fika.IsKind(err, fika.Conflict) && err.Error() != said {
			said = err.Error()
			h.app.Log().Warn("host on demand", "host", name, "err", err)
		}
		if sleep.For(ctx, crash.Pace(pollTime)) != nil {
			return
		}
	}
}

// lookAtHost does what one host needs now, and waits for the command if it begins one.
func (h hubHome) lookAtHost(ctx context.Context, name string, entry config.OnDemand) error {
	d, err := h.demandOf(ctx, name)
	if err != nil {
		return err
	}
	before := d.OnDemand
	d.Name, d.Home, d.IdleFor, d.Stops = name, h.host.session.Host, entry.IdleFor, entry.Stop != ""
	o, run := d.next(entry.StartWithin)
	if o != before {
		if o, err = h.store.PutOnDemand(ctx, h.host.session, o); err != nil {
			return err
		}
		if o.State != before.State || o.Reason != before.Reason {
			h.app.Log().Info("host on demand", "host", name, "state", o.State, "why", o.Reason)
		}
	}
	line := map[command]string{startCommand: entry.Start, stopCommand: entry.Stop}[run]
	if run == noCommand {
		return nil
	}
	crash.Point("command-for-host.before")
	why, err := worker.CommandForHost(ctx, h.app, h.home.Root, h.host.session.Host, name, line, entry.StartWithin)
	crash.Point("command-for-host.after")
	if err != nil && ctx.Err() == nil {
		why = err.Error()
	}
	if why == "" || ctx.Err() != nil {
		return nil // whether it is up, or down, is seen
	}
	if d, err = h.demandOf(ctx, name); err != nil || d.State != o.State || d.up != (run == stopCommand) {
		return err // what was wanted has come about all the same
	}
	_, err = h.store.PutOnDemand(ctx, h.host.session, d.failed("the command that "+map[command]string{startCommand: "starts", stopCommand: "stops"}[run]+" it "+why))
	h.app.Log().Warn("host on demand", "host", name, "err", why)
	return err
}

// demandOf returns how things stand with a host on demand.
func (h hubHome) demandOf(ctx context.Context, name string) (d demand, err error) {
	rows, err := h.store.ListOnDemand(ctx)
	if err != nil {
		return d, err
	}
	for _, row := range rows {
		if row.Name == name {
			d.OnDemand = row
		}
	}
	hosts, now, err := h.store.ListHosts(ctx)
	if err != nil {
		return d, err
	}
	d.now = now
	i := slices.IndexFunc(hosts, func(o store.Host) bool { return o.Name == name })
	if i < 0 {
		return d, nil // it has never been up: only a person wants it
	}
	if d.up, d.seen = hosts[i].Alive(now), hosts[i].Seen; !d.up && hosts[i].State == store.HostDrained {
		return d, nil // it would begin nothing
	}
	return d, h.lookForWork(ctx, &d, hosts[i], hosts)
}

// lookForWork finds out what there is to do on a host.
func (h hubHome) lookForWork(ctx context.Context, d *demand, at store.Host, hosts []store.Host) error {
	rows, err := h.store.ListAgents(ctx)
	if err != nil {
		return err
	}
	here := map[fika.AgentName]bool{}
	elsewhere := map[fika.AgentName]fika.Agent{}
	for _, row := range rows {
		here[row.Name] = row.HomeID == at.ID && !row.Desired.Stopped()
		if row.HomeID != at.ID && !row.Desired.Stopped() {
			elsewhere[row.Name] = row
		}
		d.held = d.held || row.HomeID == at.ID && row.Owner != "" && row.LeaseUntil.After(d.now)
	}
	work, err := h.store.WithWork(ctx)
	if err != nil {
		return err
	}
	for _, w := range work {
		can := here[w.Agent]
		if row, is := elsewhere[w.Agent]; is && !d.up {
			if can, err = h.awaitsOnly(ctx, row, at, hosts); err != nil {
				return err
			}
		}
		d.wanted = d.wanted || can
	}
	running, err := h.store.ListRequests(ctx, store.RequestFilter{States: []fika.RequestState{fika.Running}, Limit: 1000})
	if err != nil {
		return err
	}
	for _, r := range running {
		switch {
		case !here[r.AgentName]:
		case d.up:
			d.busy = true
		case r.Origin == fika.Queued: // its host has gone while it ran
			d.wanted = true
		}
	}
	jobs, err := h.store.ListJobs(ctx, store.JobFilter{Running: true})
	for _, j := range jobs {
		d.busy = d.busy || d.up && here[j.AgentName]
	}
	return err
}

// awaitsOnly reports whether an agent that is on another host goes to this one when it comes up,
// and can run on no other that is up, nor on its own.
func (h hubHome) awaitsOnly(ctx context.Context, row fika.Agent, at store.Host, hosts []store.Host) (bool, error) {
	if row.Epoch > 0 {
		return false, nil
	}
	said, there, err := h.store.Defined(ctx, row.Name)
	if err != nil || !there || !at.Awaits(row, said.RunOn) {
		return false, err
	}
	return !slices.ContainsFunc(hosts, func(o store.Host) bool {
		return o.Fits(said.RunOn) && (o.ID == row.HomeID || h.host.Alive(o.ID) || o.ID == h.host.session.Host)
	}), nil
}
