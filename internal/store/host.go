package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// Hosts keeps the homes whose hubs share the database, and what one hub at a time does
// for all. A home whose database is a file of its own is alone and has no row.
type Hosts struct{ *db }

// Site says where a home is: its id, which a copied disk has too, and which of its
// copies it is, on which machine, since which start of that machine.
type Site struct {
	Home string
	Copy string
}

// HostState is what a person wants of a host.
type HostState string

// The states of a host.
const (
	HostActive  HostState = "active"
	HostDrained HostState = "drained" // it begins no work
)

// Host is a home in which a hub runs or has run.
type Host struct {
	ID      string // of the home
	Name    string // unique; at first the machine's
	Labels  []string
	Version string
	State   HostState
	Seen    time.Time // when its hub last gave a sign of life
	Until   time.Time // how long the hub counts as alive without one
	// Refused says where a second holder of the same home was refused, and when that was
	// last; empty: none was.
	Refused   string
	RefusedAt time.Time
	Bus       HostBus
	Agents    []string // that its configuration defines, by name
	Role      string   // with which it uses the server
}

// HostBus is the bus that a host's hub uses. Hubs with different prefixes do not hear each
// other.
type HostBus struct {
	Prefix string
	Server string // without secrets
}

func (b HostBus) text() string { return strings.TrimSpace(b.Prefix + " " + b.Server) }

// Alive reports whether the host's hub runs, as far as is known at a time.
func (h Host) Alive(now time.Time) bool { return h.Until.After(now) }

// Fits reports whether an agent with these words for hosts may run on the host: none of
// those after a ! is its name or one of its labels, and one of the others is, if there are
// others.
func (h Host) Fits(words []string) bool {
	fits, named := false, false
	for _, w := range words {
		w, not := strings.CutPrefix(w, "!")
		is := w == h.Name || slices.Contains(h.Labels, w)
		if not && is {
			return false
		}
		named, fits = named || !not, fits || is
	}
	return fits || !named
}

// HostSession is the right of one hub to be a host, until it lapses or another takes it.
type HostSession struct {
	Host    string // the id
	Session string
	Seen    time.Time // of the host when this was last prolonged; zero: not known
}

// forgotten is by how much a host may have been seen earlier than was acknowledged: what a
// server has not written when it loses its power.
const forgotten = 10 * time.Second

const selectHost = `SELECT h.id, h.name, h.labels, h.version, h.state, h.seen_at, h.until, h.refused, h.refused_at, h.bus, h.agents, h.by_host, h.site FROM hosts h`

type hostRow struct {
	Host
	site string
}

func scanHost(s scanner) (h hostRow, err error) {
	var labels, bus, agents string
	var seen, until, refused int64
	err = s.Scan(&h.ID, &h.Name, &labels, &h.Version, &h.State, &seen, &until, &h.Refused, &refused, &bus, &agents, &h.Role, &h.site)
	h.Agents = strings.Fields(agents)
	h.Bus.Prefix, h.Bus.Server, _ = strings.Cut(bus, " ")
	h.Labels, h.Seen, h.Until, h.RefusedAt = strings.Fields(labels), at(seen), at(until), at(refused)
	return h, err
}

// EnterHost makes the hub of a home the holder of its host, for the duration d, and
// creates the row on first use, with the machine's name. The caller holds the lock of the
// home's hub: a holder at the same site is gone.
//
// A holder at another site may be gone as well, with a machine that was restarted, or live
// on in a copy of the home. As long as that is not known, EnterHost returns no session and
// the host as it stands: the caller tries again with its Seen as seen, which is the zero
// time before. Once the holder has lapsed, the host is the caller's; if it has been seen
// later than that, the home is a copy: EnterHost fails with Locked, and tells the holder.
func (s Hosts) EnterHost(ctx context.Context, where Site, machine, version string, bus HostBus, d time.Duration, seen time.Time) (HostSession, Host, error) {
	const op = "enter host"
	var out HostSession
	var host hostRow
	var refused bool
	err := s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		out, host, refused = HostSession{}, hostRow{}, false
		found := false
		if err := t.begin(ctx, first(&host, &found, scanHost, selectHost+` WHERE h.id = ?`+lockRow, where.Home)); err != nil {
			return err
		}
		if found && ms(host.Until) > t.now && host.site != where.Copy {
			if refused = !seen.IsZero() && host.Seen.After(seen); !refused {
				return nil
			}
			return t.put(ctx, `UPDATE hosts SET refused = ?, refused_at = ? WHERE id = ?`, machine, t.now, where.Home)
		}
		out = HostSession{Host: where.Home, Session: t.newID()}
		if !found {
			name, err := hostsIn(t).freeName(ctx, machine)
			if err != nil {
				return err
			}
			host.ID, host.Name, host.State = where.Home, name, HostActive
			if err := t.put(ctx, `INSERT INTO hosts (id, name) VALUES (?, ?)`, where.Home, name); err != nil {
				return err
			}
		}
		host.Version, host.Seen, host.Until = version, at(t.now), at(t.now+d.Milliseconds())
		host.Bus = bus
		return t.put(ctx, `UPDATE hosts SET session = ?, site = ?, version = ?, bus = ?, seen_at = ?, until = ? WHERE id = ?`,
			out.Session, where.Copy, version, bus.text(), t.now, t.now+d.Milliseconds(), where.Home)
	})
	if err == nil && refused {
		err = fika.Errorf(fika.Locked, op, "this home is a copy: the hub of %s has the same home_id and is up (last seen %s). Delete home_id here to make this a new home, or run %s there",
			host.Name, host.Seen.UTC().Format(time.RFC3339), hint.Down)
	}
	return out, host.Host, err
}

// hostRows writes hosts and duties.
type hostRows struct{ *tx }

func hostsIn(t *tx) hostRows { return hostRows{t} }

// freeName returns the machine's name, with a number if another host has it.
func (t hostRows) freeName(ctx context.Context, machine string) (string, error) {
	taken, err := many(ctx, t, scanText, `SELECT h.name FROM hosts h`)
	name := machine
	for n := 2; slices.Contains(taken, name); n++ {
		name = fmt.Sprintf("%s-%d", machine, n)
	}
	return name, err
}

// HostNews is what [Hosts.KeepHost] tells a hub.
type HostNews struct {
	Host   Host
	Others []Host
	Duties []string // that this hub has, for the duration that it asked for
	Moves  []Move   // of agents on this host: those that are to leave it, and those that have just come
	// Agents are those that are on the host, by name.
	Agents []string
	// OnDemand are the hosts that start on demand.
	OnDemand []OnDemand
}

// KeepHost prolongs a session, and takes or keeps those of the duties that no other hub
// has. agents are those that its configuration defines; nil: as it said before. It fails with
// Lost if another hub is the host by now.
func (s Hosts) KeepHost(ctx context.Context, h HostSession, d time.Duration, duties, agents []string) (HostNews, error) {
	const op = "keep host"
	var out HostNews
	err := s.writeRelaxed(ctx, op, func(ctx context.Context, t *tx) error {
		out = HostNews{}
		until := t.now + d.Milliseconds()
		set, args := `seen_at = ?, until = ?`, []any{t.now, until}
		if agents != nil {
			set, args = set+`, agents = ?`, append(args, strings.Join(agents, " "))
		}
		n, err := t.exec(ctx, `UPDATE hosts SET `+set+` WHERE id = ? AND session = ? AND seen_at >= ?`, append(args, h.Host, h.Session, max(0, ms(h.Seen)-forgotten.Milliseconds()))...)
		if err == nil && n == 0 {
			err = s.lostHost(ctx, t, h)
		}
		if err != nil {
			return err
		}
		var values []any
		for _, name := range duties {
			values = append(values, name, h.Host, h.Session, until)
		}
		if len(duties) > 0 {
			err := t.put(ctx, `INSERT INTO duties (name, host, session, until) VALUES `+strings.TrimSuffix(strings.Repeat(`(?, ?, ?, ?), `, len(duties)), `, `)+`
ON CONFLICT (name) DO UPDATE SET host = excluded.host, session = excluded.session, until = excluded.until WHERE duties.session = excluded.session OR duties.until <= ?`,
				append(values, t.now)...)
			if err != nil {
				return err
			}
		}
		var rows []hostRow
		err = t.run(ctx, all(&rows, scanHost, selectHost+` ORDER BY h.name`),
			all(&out.OnDemand, scanOnDemand, selectOnDemand+` ORDER BY od.name`),
			all(&out.Agents, scanText, `SELECT a.name FROM agents a WHERE a.home_id = ? ORDER BY a.name`, h.Host),
			all(&out.Moves, scanMove, selectMove+` WHERE a.home_id = ? AND m.refused = ''`, h.Host),
			all(&out.Duties, scanText, `SELECT u.name FROM duties u WHERE u.session = ? AND u.until > ? ORDER BY u.name`, h.Session, t.now))
		for _, r := range rows {
			if r.ID == h.Host {
				out.Host = r.Host
			} else {
				out.Others = append(out.Others, r.Host)
			}
		}
		return err
	})
	return out, err
}

// lostHost returns why a session cannot be prolonged.
func (s Hosts) lostHost(ctx context.Context, t *tx, h HostSession) error {
	const op = "keep host"
	_, still, err := one(ctx, t, scanText, `SELECT h.id FROM hosts h WHERE h.id = ? AND h.session = ?`, h.Host, h.Session)
	switch {
	case err != nil:
		return err
	case still:
		return s.olderCopy(op)
	}
	return fika.Errorf(fika.Lost, op, "another hub has become this host, or it was forgotten")
}

// LeaveHost ends a session and gives its duties back. A session that is already lost is
// not an error.
func (s Hosts) LeaveHost(ctx context.Context, h HostSession) error {
	return s.write(ctx, "leave host", func(ctx context.Context, t *tx) error {
		if err := t.put(ctx, `UPDATE hosts SET session = '', until = 0, seen_at = ? WHERE id = ? AND session = ?`, t.now, h.Host, h.Session); err != nil {
			return err
		}
		return t.put(ctx, `DELETE FROM duties WHERE session = ?`, h.Session)
	})
}

// ListHosts returns all hosts by name, and the time of the database.
func (s Hosts) ListHosts(ctx context.Context) ([]Host, time.Time, error) {
	rows, err := many(ctx, s.r, scanHost, selectHost+` ORDER BY h.name`)
	out := make([]Host, len(rows))
	for i, r := range rows {
		out[i] = r.Host
	}
	return out, at(s.nowMS()), s.explain("list hosts", err)
}

// HostOf returns the host of a home; false if the home is none.
func (s Hosts) HostOf(ctx context.Context, home string) (Host, bool, error) {
	h, known, err := one(ctx, s.r, scanHost, selectHost+` WHERE h.id = ?`, home)
	return h.Host, known, s.explain("read host", err)
}

// HostName returns the name of the host of a home; of a home that is none, its id.
func (s Hosts) HostName(ctx context.Context, home string) (string, error) {
	name, known, err := one(ctx, s.r, scanText, `SELECT h.name FROM hosts h WHERE h.id = ?`, home)
	if err == nil && !known {
		name = home
	}
	return name, s.explain("name host", err)
}

// ListDuties returns which host has each duty now, by the names of both.
func (s Hosts) ListDuties(ctx context.Context) (map[string]string, error) {
	type duty struct{ name, host string }
	list, err := many(ctx, s.r, func(sc scanner) (d duty, err error) { return d, sc.Scan(&d.name, &d.host) },
		`SELECT u.name, h.name FROM duties u JOIN hosts h ON h.id = u.host WHERE u.until > ?`, s.nowMS())
	out := map[string]string{}
	for _, d := range list {
		out[d.name] = d.host
	}
	return out, s.explain("list duties", err)
}

// LabelHost adds and removes labels of the host of a name.
func (s Hosts) LabelHost(ctx context.Context, name string, add, remove []string) error {
	return s.changeHost(ctx, "label host", name, func(ctx context.Context, t *tx, h Host) error {
		labels := slices.DeleteFunc(append(h.Labels, add...), func(l string) bool { return slices.Contains(remove, l) })
		slices.Sort(labels)
		return t.put(ctx, `UPDATE hosts SET labels = ? WHERE id = ?`, strings.Join(slices.Compact(labels), " "), h.ID)
	})
}

// SetHostState stores what is wanted of the host of a name. Its hub sees to it.
func (s Hosts) SetHostState(ctx context.Context, name string, state HostState) error {
	return s.changeHost(ctx, "set state of host", name, func(ctx context.Context, t *tx, h Host) error {
		return t.put(ctx, `UPDATE hosts SET state = ? WHERE id = ?`, state, h.ID)
	})
}

// ForgetHost removes the host of a name: from then on, each agent of it belongs to the
// home that next defines it. If the host has a role of its own, that can log in no more. It
// fails with Locked while the host's hub or a process of one of its agents counts as alive,
// unless stolen is set: then the role is locked out first. It fails with Invalid if the host
// is stolen and has no role of its own, and with Denied if the role of this process may not
// do that, or not all of it.
func (s Hosts) ForgetHost(ctx context.Context, name string, stolen bool) error {
	const op = "forget host"
	var role string
	if stolen {
		h, found, err := one(ctx, s.r, scanHost, selectHost+` WHERE h.name = ?`, name)
		if err != nil {
			return s.explain(op, err)
		}
		if found {
			has, err := s.lockOut(ctx, h.Role)
			if err == nil && !has {
				err = fika.Errorf(fika.Invalid, op, "%s has no role of its own on the server, so that only another password for the role %s locks it out", name, h.Role)
			}
			if err != nil {
				return err
			}
		}
	}
	err := s.changeHost(ctx, op, name, func(ctx context.Context, t *tx, h Host) error {
		role = h.Role
		if h.Alive(at(t.now)) && !stolen {
			return fika.WithHint(fika.Errorf(fika.Locked, op, "%s is up: run %s there first", name, hint.Down), hint.HostForgetStolen.With(name))
		}
		who, held, err := one(ctx, t, scanText, `SELECT a.name FROM agents a WHERE a.home_id = ? AND a.owner <> '' AND a.lease_until > ? ORDER BY a.name LIMIT 1`, h.ID, t.now)
		if err != nil {
			return err
		}
		if held && !stolen {
			return fika.WithHint(fika.Errorf(fika.Locked, op, "@%s may still be at work on %s: try again when its lease has ended", who, name), hint.AgentList)
		}
		for _, text := range []string{`DELETE FROM agent_defs WHERE host = ?`, `DELETE FROM moves WHERE host = ? AND sent = 0`, `DELETE FROM on_demand WHERE home = ?`} {
			if err := t.put(ctx, text, h.ID); err != nil {
				return err
			}
		}
		return t.put(ctx, `DELETE FROM hosts WHERE id = ?`, h.ID)
	})
	if err == nil && !stolen {
		if _, err = s.lockOut(ctx, role); err != nil {
			err = fika.Errorf(fika.Denied, op, "%s is forgotten, and %v", name, err)
		}
	}
	return err
}

// changeHost changes the host of a name, which it locks. It fails with NotFound.
func (s Hosts) changeHost(ctx context.Context, op, name string, change func(context.Context, *tx, Host) error) error {
	return s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		var h hostRow
		found := false
		err := t.begin(ctx, first(&h, &found, scanHost, selectHost+` WHERE h.name = ?`+lockRow, name))
		if err == nil && !found {
			err = fika.Errorf(fika.NotFound, op, "host %q not found", name)
		}
		if err != nil {
			return err
		}
		return change(ctx, t, h.Host)
	})
}
