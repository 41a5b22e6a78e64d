package store

import (
	"context"
	"slices"

	"fika"
)

// KeepPool makes an agent a pool with the given members of a home beside those on other
// hosts, or, if there are none at all, an ordinary agent again. Requests that have not begun
// are given to a member if they wait for an agent that has left the pool, or for the pool
// itself from before it was one.
func (s Agents) KeepPool(ctx context.Context, pool fika.AgentID, home string, members []fika.AgentID) error {
	const op = "keep pool"
	have, err := many(ctx, s.r, scanText, `SELECT m.id FROM agents m WHERE m.pool = ? AND m.pool <> '' AND `+ofHome, pool, home, pool, home)
	if err != nil {
		return s.explain(op, err)
	}
	off, _, err := one(ctx, s.r, scanInt, `SELECT a.instances - (SELECT count(*) FROM agents m WHERE m.pool = a.id AND m.pool <> '') FROM agents a WHERE a.id = ?`, pool)
	if err != nil || off == 0 && sameIDs(have, members) {
		return s.explain(op, err)
	}
	return s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		// Lock all of them in the order that everybody who locks several agents uses.
		var rows []fika.Agent
		args := []any{pool, pool, home, pool, home}
		for _, id := range members {
			args = append(args, id)
		}
		list := `SELECT ` + agentColumns + ` FROM agents a WHERE a.id = ? OR EXISTS (SELECT 1 FROM agents m WHERE m.id = a.id AND m.pool = ? AND m.pool <> '' AND ` + ofHome + `)`
		if len(members) > 0 {
			list += ` OR a.id IN (` + placeholders(len(members)) + `)`
		}
		if err := t.begin(ctx, all(&rows, scanAgent, list+` ORDER BY a.id`+lockAgent, args...)); err != nil {
			return err
		}
		var leave []fika.Agent
		var itself fika.Agent
		for _, a := range rows {
			var err error
			switch {
			case a.ID == pool:
				itself = a
			case slices.Contains(members, a.ID):
				_, err = t.tellAgents(ctx, `UPDATE agents SET pool = ?, instances = 0 WHERE id = ?`, pool, a.ID)
			default:
				leave = append(leave, a)
				err = poolsIn(t).leavePool(ctx, pool, a.ID)
			}
			if err != nil {
				return err
			}
		}
		if itself.ID == "" {
			return fika.Errorf(fika.NotFound, op, "no agent with id %q", pool)
		}
		n, _, err := one(ctx, t, scanInt, `SELECT count(*) FROM agents m WHERE m.pool = ? AND m.pool <> ''`, pool)
		if err != nil {
			return err
		}
		itself.Instances = int(n)
		if _, err := t.tellAgents(ctx, `UPDATE agents SET instances = ?, pool = '' WHERE id = ?`, n, pool); err != nil {
			return err
		}
		return poolsIn(t).reassign(ctx, itself, leave)
	})
}

// ofHome holds for the members m of a pool that a home keeps: its own and, if the pool is its
// own, those of homes that are no hosts.
const ofHome = `(m.home_id = ? OR NOT EXISTS (SELECT 1 FROM hosts h WHERE h.id = m.home_id) AND EXISTS (SELECT 1 FROM agents p WHERE p.id = ? AND p.home_id = ?))`

// reassign gives to members the requests that have not begun and wait for agents that
// have left the pool, or for the pool itself from before it was one.
func (t poolRows) reassign(ctx context.Context, pool fika.Agent, left []fika.Agent) error {
	for _, from := range append(left, pool) {
		list, err := many(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.agent = ? AND `+notBegun+` ORDER BY r.n`+lockRequest, from.ID)
		if err != nil {
			return err
		}
		for _, r := range list {
			if !MayHandOver(r) || from.ID == pool.ID && (!pool.IsPool() || r.Kind == fika.TaskRequest) || from.ID != pool.ID && r.Addressed != pool.ID {
				continue // the request is where it belongs
			}
			why := "@" + string(from.Name) + " is no member of @" + string(pool.Name) + " any more"
			if from.ID == pool.ID {
				why = "@" + string(pool.Name) + " is a pool now"
			}
			if _, err := t.moveRequest(ctx, r, from, pool, why); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameIDs(have []string, want []fika.AgentID) bool {
	return len(have) == len(want) && !slices.ContainsFunc(want, func(id fika.AgentID) bool { return !slices.Contains(have, string(id)) })
}

// leavePool removes an agent from a pool, and the bindings to it.
func (t poolRows) leavePool(ctx context.Context, pool, member fika.AgentID) error {
	if _, err := t.tellAgents(ctx, `UPDATE agents SET pool = '' WHERE id = ?`, member); err != nil {
		return err
	}
	return t.put(ctx, `DELETE FROM bindings WHERE pool = ? AND member = ?`, pool, member)
}

// poolRows writes the members of pools and what is assigned to them.
type poolRows struct{ *tx }

func poolsIn(t *tx) poolRows { return poolRows{t} }

// leastBusy selects the members of a pool in this order: first those that may work, those on
// a host that is down or drained not among them,
// then those with the least work, then those that take part in a conversation, then
// those to which the fewest people are bound, then by number.
const leastBusy = `SELECT ` + agentColumns + ` FROM agents a WHERE a.pool = ? AND a.pool <> ''
ORDER BY CASE WHEN a.desired IN ('stopped', 'finish', 'now') THEN 2 WHEN a.state = 'failed' THEN 1
  WHEN EXISTS (SELECT 1 FROM hosts h WHERE h.id = a.home_id AND (h.state <> 'active' OR h.until <= ?)) THEN 1 ELSE 0 END,
  (SELECT count(*) FROM requests r WHERE r.agent = a.id AND r.finished_at = 0)
  + (SELECT count(*) FROM notifications n WHERE n.agent = a.id AND n.state = 'pending'),
  (SELECT count(*) FROM participants p WHERE p.conversation = ? AND p.agent = a.id) DESC,
  (SELECT count(*) FROM bindings b WHERE b.member = a.id), length(a.name), a.name`

// choose returns the member to which something is assigned: the least busy one that
// without does not exclude. It fails with NotFound if there is none.
func (t poolRows) choose(ctx context.Context, pool fika.AgentID, in fika.ConversationID, without func(fika.Agent) bool) (fika.Agent, error) {
	list, err := many(ctx, t, scanAgent, leastBusy, pool, t.now, in)
	if err != nil {
		return fika.Agent{}, err
	}
	for _, a := range list {
		if without == nil || !without(a) {
			return a, nil
		}
	}
	return fika.Agent{}, fika.Errorf(fika.NotFound, "pool", "no member to assign it to")
}

// memberFor returns the member of a pool that a request goes to: the owner of the
// conversation, if the request names one of a member's; else the member to which the
// asker is bound; else the least busy one, to which the asker is bound from then on.
func (t poolRows) memberFor(ctx context.Context, n NewRequest, pool fika.Agent) (fika.Agent, error) {
	if n.Conversation != "" {
		owner, found, err := one(ctx, t, scanAgent, selectAgent+` JOIN conversations c ON c.agent = a.id WHERE c.name = ? AND a.pool = ? AND a.pool <> ''`, n.Conversation, pool.ID)
		if err != nil || found {
			return owner, err
		}
	}
	person := bindingOf(n.Payload)
	bound, found, err := one(ctx, t, scanAgent, selectAgent+` JOIN bindings b ON b.member = a.id WHERE b.pool = ? AND b.person = ?`, pool.ID, person)
	if err != nil || found {
		return bound, err
	}
	chosen, err := t.choose(ctx, pool.ID, "", nil)
	if err != nil {
		return chosen, err
	}
	id, _, err := one(ctx, t, scanText, `INSERT INTO bindings (pool, person, member, bound_at) VALUES (?, ?, ?, ?)
ON CONFLICT (pool, person) DO UPDATE SET person = excluded.person RETURNING member`, pool.ID, person, chosen.ID, t.now)
	if err != nil || id == string(chosen.ID) {
		return chosen, err
	}
	return agentByID(ctx, t, fika.AgentID(id))
}

// bindingOf returns the asker's name as bindings store it: an agent is kept apart
// from a person of the same name.
func bindingOf(p fika.Payload) string {
	if p.Writer == fika.ByAgent {
		return "@" + p.From
	}
	return p.From
}

// Bound returns the member of a pool to which a person is bound; false means that
// they have not asked yet.
func (s Agents) Bound(ctx context.Context, pool fika.AgentID, person string) (fika.Agent, bool, error) {
	a, found, err := one(ctx, s.r, scanAgent, selectAgent+` JOIN bindings b ON b.member = a.id WHERE b.pool = ? AND b.person = ?`, pool, person)
	return a, found, s.explain("read binding", err)
}

// Unbind makes a person's next ask of a pool find a member anew, and gives the member
// that they were bound to a new, empty conversation. It returns that member; false
// means that there was none.
func (s Agents) Unbind(ctx context.Context, pool fika.AgentID, person string) (fika.Agent, bool, error) {
	var was fika.Agent
	var found bool
	err := s.write(ctx, "unbind", func(ctx context.Context, t *tx) error {
		var err error
		was, found, err = one(ctx, t, scanAgent, selectAgent+` JOIN bindings b ON b.member = a.id WHERE b.pool = ? AND b.person = ?`+lockAgent, pool, person)
		if err != nil || !found {
			t.discard = true
			return err
		}
		if err := t.put(ctx, `DELETE FROM bindings WHERE pool = ? AND person = ?`, pool, person); err != nil {
			return err
		}
		if _, err := t.tellConversations(ctx, "", `UPDATE conversations SET status = 'completed', updated_at = ? WHERE id = ?`, t.now, was.ActiveAsk); err != nil {
			return err
		}
		_, err = agentsIn(t).newAsk(ctx, was.ID)
		return err
	})
	return was, found, err
}

const (
	// pooled selects the oldest task of a pool that nobody has taken.
	pooled = `SELECT r.id FROM requests r JOIN conversations c ON c.id = r.conversation
WHERE r.agent = ? AND r.finished_at = 0 AND r.state = 'open' AND r.upto_seq = 0 AND c.paused = 0 AND ` + runGoes + ` ORDER BY r.n LIMIT 1`
	// skipTaken skips a task that another member is about to take.
	skipTaken = lockRequest + ` SKIP LOCKED`
)

// takePooled assigns the oldest task of its pool to the claimer. The task is claimed
// in the same commit, or stays the pool's.
func (k *claim) takePooled(ctx context.Context) (bool, error) {
	if k.agent.Pool == "" {
		return false, nil
	}
	id, found, err := one(ctx, k.tx, scanText, pooled+skipTaken, k.agent.Pool)
	if err != nil || !found {
		return false, err
	}
	n, err := k.exec(ctx, `UPDATE requests SET agent = ?, addressed = CASE WHEN addressed = '' THEN ? ELSE addressed END
WHERE id = ? AND agent = ? AND upto_seq = 0 AND finished_at = 0`, k.agent.ID, k.agent.Pool, id, k.agent.Pool)
	if err != nil || n == 0 {
		return false, err
	}
	k.agent.requests = true
	return true, k.put(ctx, `UPDATE conversations SET agent = ? WHERE kind = 'task' AND id = (SELECT conversation FROM requests WHERE id = ?)`, k.agent.ID, id)
}

// anyPooled reports whether there is a task in the pool of an agent.
func (s *db) anyPooled(ctx context.Context, a owned) (bool, error) {
	if a.Pool == "" {
		return false, nil
	}
	_, found, err := one(ctx, s.r, scanText, pooled, a.Pool)
	return found, err
}

// assign replaces a recipient that is a pool by the member to be notified, which is
// neither the writer nor notified anyway.
func (t postRows) assign(ctx context.Context, c fika.ConversationID, r *recipient, told recipients, writer string) error {
	member, err := poolsIn(t.tx).choose(ctx, fika.AgentID(r.id), c, func(a fika.Agent) bool {
		return string(a.Name) == writer || slices.ContainsFunc(told, func(o *recipient) bool { return o.id == string(a.ID) })
	})
	if fika.IsKind(err, fika.NotFound) {
		r.skip = true // every member is the writer or notified anyway
		return nil
	}
	if err != nil {
		return err
	}
	r.id, r.name = string(member.ID), member.Name
	return nil
}
