package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"fika"
)

// OnDemand is a host that a command starts when there is work for it, and another one may
// stop when there is none. One hub at a time looks after it: whoever has the duty
// [StartDuty] of its name.
type OnDemand struct {
	Name    string
	Home    string // the one whose settings have the commands
	IdleFor time.Duration
	Stops   bool // there is a command that stops it
	Want    OnDemandWish
	State   OnDemandState
	Since   time.Time // when State began
	Until   time.Time // how long State lasts at the most; of OnDemandFailed and OnDemandRests: nothing is tried before
	Idle    time.Time // since when the host, which is up, has had nothing to do; zero: it has
	Tries   int       // how many times in a row it could not be started
	Reason  string    // why it could not be started, or stopped, the last time; empty: it could

	n int64 // of the change that it is read from; 0: of none
}

// OnDemandWish is what a person wants of a host that starts on demand.
type OnDemandWish string

// The wishes.
const (
	WantDemand OnDemandWish = ""      // as there is work
	WantStart  OnDemandWish = "start" // now, although there may be no work
	WantStop   OnDemandWish = "stop"  // that it stops, and stays so although there may be work
)

// OnDemandState is what is done about a host that starts on demand.
type OnDemandState string

// The states.
const (
	OnDemandRests    OnDemandState = ""
	OnDemandStarting OnDemandState = "starting" // the command has been begun; its hub is waited for
	OnDemandFailed   OnDemandState = "failed"   // it could not be started
	OnDemandDraining OnDemandState = "draining" // it begins no work, because it is to be stopped
	OnDemandStopping OnDemandState = "stopping" // the command that stops it has been begun
	OnDemandStopped  OnDemandState = "stopped"  // it is down because a person wants that
)

// Begins reports whether the host may begin work, as far as this is concerned.
func (d OnDemand) Begins(now time.Time) bool {
	return d.State != OnDemandDraining && d.State != OnDemandStopping || !d.Until.After(now)
}

// Awaits reports whether an agent that is on another host, with these words for hosts, goes to
// this one when it comes up: it fits and defines the agent, and nobody has held that yet.
func (h Host) Awaits(a fika.Agent, words []string) bool {
	return a.Epoch == 0 && len(words) > 0 && h.Fits(words) && slices.Contains(h.Agents, string(a.Name))
}

// StartDuty is the duty to start and stop the host of a name.
func StartDuty(name string) string { return "start " + name }

const selectOnDemand = `SELECT od.name, od.home, od.n, od.idle_for, od.stops, od.want, od.state, od.since, od.until, od.idle_since, od.tries, od.reason FROM on_demand od`

func scanOnDemand(s scanner) (d OnDemand, err error) {
	var idle, since, until, idleSince int64
	err = s.Scan(&d.Name, &d.Home, &d.n, &idle, flag{&d.Stops}, &d.Want, &d.State, &since, &until, &idleSince, &d.Tries, &d.Reason)
	d.IdleFor, d.Since, d.Until, d.Idle = time.Duration(idle)*time.Millisecond, at(since), at(until), at(idleSince)
	return d, err
}

// ListOnDemand returns the hosts that start on demand, by name.
func (s Hosts) ListOnDemand(ctx context.Context) ([]OnDemand, error) {
	list, err := many(ctx, s.r, scanOnDemand, selectOnDemand+` ORDER BY od.name`)
	return list, s.explain("list hosts on demand", err)
}

// PutOnDemand stores what is done about a host, as d says: the first time, or instead of what d
// was read as. It fails with Conflict, and changes nothing, if the session has not the duty, or
// something was stored meanwhile.
func (s Hosts) PutOnDemand(ctx context.Context, h HostSession, d OnDemand) (OnDemand, error) {
	const op = "put host on demand"
	err := s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		var has int64 // until when
		found := false
		if err := t.begin(ctx, first(&has, &found, scanInt, `SELECT u.until FROM duties u WHERE u.name = ? AND u.session = ?`, StartDuty(d.Name), h.Session)); err != nil {
			return err
		}
		var n int64
		var err error
		if has > t.now {
			n, err = t.exec(ctx, `INSERT INTO on_demand (name, home, n, idle_for, stops, want, state, since, until, idle_since, tries, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET home = excluded.home, n = excluded.n, idle_for = excluded.idle_for, stops = excluded.stops, want = excluded.want, state = excluded.state,
since = excluded.since, until = excluded.until, idle_since = excluded.idle_since, tries = excluded.tries, reason = excluded.reason WHERE on_demand.n = excluded.n - 1`,
				d.Name, h.Host, d.n+1, d.IdleFor.Milliseconds(), number(d.Stops), d.Want, d.State, ms(d.Since), ms(d.Until), ms(d.Idle), d.Tries, d.Reason)
		}
		if err == nil && n == 0 {
			err = fika.Errorf(fika.Conflict, op, "another hub looks after %s, or somebody wants something else of it by now", d.Name)
		}
		return err
	})
	if err == nil {
		d.Home, d.n = h.Host, d.n+1
	}
	return d, err
}

// WantOnDemand says what a person wants of a host that starts on demand. What could not be done
// is then tried at once. It fails with NotFound if no settings say how the host is started.
func (s Hosts) WantOnDemand(ctx context.Context, name string, want OnDemandWish) error {
	const op = "want host on demand"
	return s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE on_demand SET n = n + 1, want = ?, idle_since = 0, until = CASE WHEN state IN ('', 'failed') THEN 0 ELSE until END WHERE name = ?`, want, name)
		if err == nil && n == 0 {
			err = fika.Errorf(fika.NotFound, op, "no [hosts.%s] says how %s is started", name, name)
		}
		return err
	})
}

// DropOnDemand forgets the hosts that the settings of a home do not say how to start any
// more; those of names, they do.
func (s Hosts) DropOnDemand(ctx context.Context, home string, names []string) error {
	return s.write(ctx, "drop hosts on demand", func(ctx context.Context, t *tx) error {
		text, args := `DELETE FROM on_demand WHERE home = ?`, []any{home}
		for _, name := range names {
			args = append(args, name)
		}
		if len(names) > 0 {
			text += ` AND name NOT IN (` + strings.TrimSuffix(strings.Repeat(`?, `, len(names)), `, `) + `)`
		}
		return t.put(ctx, text, args...)
	})
}
