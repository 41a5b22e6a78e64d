package store

import (
	"context"
	"time"

	"fika"
	"fika/internal/system/crash"
)

// LeaseTime is how long the lease of an agent lasts without a sign of life.
const LeaseTime = 45 * time.Second

// LeaseID is unique to one lease, whatever was restored or lost, while an epoch may
// be counted twice.
type LeaseID string

// Lease is the right to work for an agent until the lease lapses or is taken over.
type Lease struct {
	Agent fika.AgentID
	Epoch fika.Epoch
	ID    LeaseID
	Owner string
}

// Beat is what an owner reports about itself with each renewal.
type Beat struct {
	State     fika.AgentState
	Processed int64
}

// Acquire takes the lease of an agent with a new epoch for the duration d. With force
// it takes the lease at once from a process at the same [Site]; the caller then holds
// the flock of the owning home. It fails with Locked while another owner's lease has not
// lapsed: always without force, and with it on a server if that owner is at another
// site, because a lock there cannot be seen from here. A file's database has one site.
// It fails with Invalid for a pool.
func (s Leases) Acquire(ctx context.Context, id fika.AgentID, owner string, d time.Duration, force bool) (Lease, error) {
	const op = "acquire agent"
	var l Lease
	if owner == "" {
		return l, fika.Errorf(fika.Invalid, op, "an owner needs a name")
	}
	err := s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		a, err := agentsIn(t).lockAgent(ctx, id)
		if err != nil {
			return err
		}
		if a.IsPool() {
			return fika.Errorf(fika.Invalid, op, "%s is a pool of %d: its members work, %s-1 and on", a.Name, a.Instances, a.Name)
		}
		if a.Owner != "" && a.Owner != owner && ms(a.LeaseUntil) > t.now && !(force && s.isHere(a)) {
			return fika.Errorf(fika.Locked, op, "%s belongs to %s until %s", a.Name, a.Owner, a.LeaseUntil.Format(time.RFC3339))
		}
		l = Lease{Agent: id, Epoch: a.Epoch + 1, ID: LeaseID(t.newID()), Owner: owner}
		t.tell(event{kind: AgentEvent, agent: id, state: string(fika.AgentStarting), data: EventData{Desired: a.Desired, Epoch: l.Epoch}})
		_, err = t.exec(ctx, `UPDATE agents SET owner = ?, owner_host = ?, owner_site = ?, epoch = ?, lease = ?, lease_until = ?, seen_at = ?, started_at = ?,
processed = 0, state = 'starting', state_reason = '' WHERE id = ?`,
			owner, s.opt.Site.Home, s.opt.Site.Copy, l.Epoch, l.ID, t.now+d.Milliseconds(), t.now, t.now, id)
		return err
	})
	return l, err
}

// isHere reports whether the process that holds an agent is, or was, at the site of this
// one. What held an agent before sites were stored counts as here.
func (s Leases) isHere(a fika.Agent) bool {
	return s.file != nil || a.OwnerHost == "" || a.OwnerHost == s.opt.Site.Home && a.OwnerSite == s.opt.Site.Copy
}

// Renew extends the lease and stores seen_at. It fails with Lost if the lease is no
// longer the agent's.
func (s Leases) Renew(ctx context.Context, l Lease, d time.Duration, b Beat) error {
	const op = "renew lease"
	return s.writeRelaxed(ctx, op, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE agents SET lease_until = ?, seen_at = ?, processed = ?,
state = CASE WHEN ? = '' THEN state ELSE ? END, state_reason = ''
WHERE id = ? AND epoch = ? AND lease = ?`,
			t.now+d.Milliseconds(), t.now, b.Processed, b.State, b.State, l.Agent, l.Epoch, l.ID)
		if err == nil && n == 0 {
			err = lostLease(op, l)
		}
		return err
	})
}

// Release ends the lease. A lease that is already lost is not an error.
func (s Leases) Release(ctx context.Context, l Lease) error {
	return s.write(ctx, "release lease", func(ctx context.Context, t *tx) error {
		_, err := t.tellAgents(ctx, `UPDATE agents SET owner = '', lease = '', lease_until = 0, seen_at = ?,
state = CASE WHEN state = 'failed' THEN state ELSE 'stopped' END
WHERE id = ? AND epoch = ? AND lease = ?`, t.now, l.Agent, l.Epoch, l.ID)
		return err
	})
}

// owned is an agent as its owner reads it, with hints about its work.
type owned struct {
	fika.Agent
	lease     LeaseID
	allPaused bool
	requests  bool // some request has no outcome
	pending   bool // some notification waits
	tasks     bool // some task of the board is open
}

// Looked is what [Leases.Look] tells an agent's owner.
type Looked struct {
	Desired fika.Desired // what a person wants of the agent
	Work    bool         // there may be something to claim
	Tasks   bool         // a task of the board is open, which is something to claim for an agent that takes tasks
}

// Look reads in one statement what an idle owner needs to know. It fails with Lost if
// the lease is no longer the agent's.
func (s Leases) Look(ctx context.Context, l Lease) (Looked, error) {
	const op = "look for work"
	var a owned
	found := false
	err := s.r.run(ctx, first(&a, &found, scanOwned, selectOwned, l.Agent, l.Epoch, l.ID))
	if err == nil && !found {
		err = lostLease(op, l)
	}
	return Looked{Desired: a.Desired, Work: !a.allPaused && !a.idle(false), Tasks: !a.allPaused && a.tasks}, s.explain(op, err)
}

const ownedAgents = `SELECT ` + agentColumns + `, a.lease, ` + pausedAll + `,
  EXISTS (SELECT 1 FROM requests q WHERE q.agent = a.id AND q.finished_at = 0)
    OR (a.pool <> '' AND EXISTS (SELECT 1 FROM requests q WHERE q.agent = a.pool AND q.finished_at = 0)),
  EXISTS (SELECT 1 FROM notifications n WHERE n.agent = a.id AND n.state = 'pending'),
  EXISTS (SELECT 1 FROM tasks t WHERE t.state = 'open')
FROM agents a WHERE `

const selectOwned = ownedAgents + `a.id = ? AND a.epoch = ? AND a.lease = ?`

func scanOwned(s scanner) (o owned, err error) {
	o.Agent, err = agentRow(s, &o.lease, flag{&o.allPaused}, flag{&o.requests}, flag{&o.pending}, flag{&o.tasks})
	return o, err
}

// Idle is an agent whose owner has nothing to do.
type Idle struct {
	Agent fika.AgentName
	Lease LeaseID
	Tasks bool // a task of the board is open, which is something to do for an agent that takes tasks
}

// ListIdle lists the idle agents that processes at the site of this one hold: those of
// which [Leases.Look] would tell their owners neither of work nor that a person wants
// them stopped.
func (s Leases) ListIdle(ctx context.Context) ([]Idle, error) {
	held, err := many(ctx, s.r, scanOwned, ownedAgents+atSite+` AND a.state = 'idle' ORDER BY a.name`, s.opt.Site.Home, s.opt.Site.Copy)
	var out []Idle
	for _, o := range held {
		if !o.Desired.Stopped() && (o.allPaused || o.idle(false)) {
			out = append(out, Idle{Agent: o.Name, Lease: o.lease, Tasks: o.tasks && !o.allPaused})
		}
	}
	return out, s.explain("list idle agents", err)
}

const atSite = `a.owner_host = ? AND a.owner_site = ? AND a.lease <> ''`

// RenewIdle extends those of some leases at the site of this process whose agents are
// idle, as [Leases.Renew] does for one, and never shortens any. It returns the extended
// ones, and leaves out those whose agents somebody else is changing at the moment.
func (s Leases) RenewIdle(ctx context.Context, leases []LeaseID, d time.Duration) (renewed []LeaseID, err error) {
	const op = "renew idle leases"
	if len(leases) == 0 {
		return nil, nil
	}
	args := []any{s.opt.Site.Home, s.opt.Site.Copy}
	err = s.writeWith(ctx, op, relaxed, func(ctx context.Context, t *tx) error {
		err := t.begin(ctx, all(&renewed, func(sc scanner) (id LeaseID, err error) { err = sc.Scan(&id); return id, err },
			`SELECT a.lease FROM agents a WHERE `+atSite+` AND a.state = 'idle' AND a.lease IN (`+placeholders(len(leases))+`) ORDER BY a.id`+lockAgent+` SKIP LOCKED`, appendAll(args, leases)...))
		if err != nil || len(renewed) == 0 {
			t.discard = true
			return err
		}
		until := t.now + d.Milliseconds()
		return t.put(ctx, `UPDATE agents SET seen_at = ?, lease_until = CASE WHEN lease_until < ? THEN ? ELSE lease_until END WHERE lease IN (`+placeholders(len(renewed))+`)`,
			appendAll([]any{t.now, until, until}, renewed)...)
	})
	return renewed, err
}

// leased begins the transaction with the agent locked; it fails with Lost if the
// lease no longer holds. more asks about the agent's requests in the same round trip;
// on a file it runs only if some request has not ended.
func (t *tx) leased(ctx context.Context, op string, l Lease, more ...statement) (owned, error) {
	var o owned
	ok := false
	list := []statement{first(&o, &ok, scanOwned, selectOwned+lockAgent, l.Agent, l.Epoch, l.ID)}
	if t.c.distant() {
		list = append(list, more...)
	}
	err := t.begin(ctx, list...)
	if err == nil && o.requests && !t.c.distant() {
		err = t.run(ctx, more...)
	}
	if err == nil && !ok {
		err = lostLease(op, l)
	}
	return o, err
}

// lostLease returns the error for a lease that no longer holds. It returns nil where
// the fence is switched off to see what it is for.
func lostLease(op string, l Lease) error {
	if crash.Without(crash.Fence) {
		return nil
	}
	return fika.Errorf(fika.Lost, op, "the lease of agent %s (epoch %d) has ended or is another's", l.Agent, l.Epoch)
}
