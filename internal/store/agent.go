package store

import (
	"context"
	"encoding/json"

	"fika"
)

// NewAgent describes an agent to [Agents.EnsureAgent].
type NewAgent struct {
	Name        fika.AgentName
	HomeID      string
	DisplayName string
	Description string
	Definition  *Definition // for the other hosts; nil: nothing is said. A file's database has no others.
}

const selectAgent = `SELECT ` + agentColumns + ` FROM agents a`

func agentByID(ctx context.Context, q querier, id fika.AgentID) (fika.Agent, error) {
	a, ok, err := one(ctx, q, scanAgent, selectAgent+` WHERE a.id = ?`, id)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, "agent", "no agent with id %q", id)
	}
	return a, err
}

// ensured is an agent with what is stored of its definition.
type ensured struct {
	fika.Agent
	body string
}

const selectEnsured = `SELECT ` + agentColumns + `, COALESCE(d.body, '') FROM agents a LEFT JOIN agent_defs d ON d.agent = a.id AND d.host = a.home_id WHERE a.name = ?`

func scanEnsured(s scanner) (e ensured, err error) {
	e.Agent, err = agentRow(s, &e.body)
	return e, err
}

// EnsureAgent creates the agent's row if it is missing and brings the descriptions and
// the definition up to date; it writes nothing if nothing differs. An agent stays with the
// home that first defined it while somebody holds it, or that home is a host: until then
// another home's definition changes nothing, and the row names its present home. One that
// nobody has ever held does not stay with a host that it may not run on: it goes to the
// first that defines it and on which it may.
func (s Agents) EnsureAgent(ctx context.Context, n NewAgent) (fika.Agent, error) {
	const op = "ensure agent"
	body, err := s.bodyOf(op, n.Definition)
	if err != nil {
		return fika.Agent{}, err
	}
	a, ok, err := one(ctx, s.r, scanEnsured, selectEnsured, n.Name)
	if err != nil {
		return a.Agent, s.explain(op, err)
	}
	if _, changed := describe(a.Agent, n); ok && !changed && (body == "" || body == a.body) {
		return a.Agent, nil
	}
	err = s.write(ctx, op, func(ctx context.Context, t *tx) error {
		a, ok, err = one(ctx, t, scanEnsured, selectEnsured, n.Name)
		if err != nil {
			return err
		}
		if !ok {
			a.Agent, _ = describe(fika.Agent{
				ID: fika.AgentID(t.newID()), Name: n.Name, State: fika.AgentStopped, CreatedAt: at(t.now),
			}, n)
			t.tell(event{kind: AgentEvent, agent: a.ID, state: string(a.State)})
			_, err = t.exec(ctx, `INSERT INTO agents (id, name, home_id, display_name, description, state, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?)`, a.ID, a.Name, a.HomeID, a.DisplayName, a.Description, a.State, t.now)
			if err == nil && body != "" {
				err = agentsIn(t).define(ctx, a.Agent, body)
			}
			return err
		}
		stays, err := agentsIn(t).stays(ctx, a, n)
		if err != nil {
			return err
		}
		now, changed := describe(a.Agent, n)
		defines := body != "" && (body != a.body || now.HomeID != a.HomeID)
		if stays || !changed && !defines {
			t.discard = true
			return nil
		}
		a.Agent = now
		if changed {
			_, err = t.tellAgents(ctx, `UPDATE agents SET home_id = ?, display_name = ?, description = ? WHERE id = ?`,
				a.HomeID, a.DisplayName, a.Description, a.ID)
		}
		if err == nil && defines {
			err = agentsIn(t).define(ctx, a.Agent, body)
		}
		return err
	})
	return a.Agent, err
}

// stays reports whether an agent stays with its home although another home defines it:
// while somebody holds it, and as long as its home is a host on which it may run, or has run.
func (t agentRows) stays(ctx context.Context, a ensured, n NewAgent) (bool, error) {
	switch {
	case a.HomeID == "" || n.HomeID == "" || a.HomeID == n.HomeID:
		return false, nil
	case ms(a.LeaseUntil) > t.now:
		return true, nil
	}
	var at, to hostRow
	known, there := false, false
	err := t.run(ctx, first(&at, &known, scanHost, selectHost+` WHERE h.id = ?`, a.HomeID), first(&to, &there, scanHost, selectHost+` WHERE h.id = ?`, n.HomeID))
	if err != nil || !known || a.Epoch > 0 || a.body == "" || n.Definition == nil || !there {
		return known, err
	}
	var said Definition
	if err := json.Unmarshal([]byte(a.body), &said); err != nil {
		return true, nil
	}
	return at.Fits(said.RunOn) || !to.Fits(said.RunOn) || !to.Fits(n.Definition.RunOn), nil
}

// describe applies the given fields; an empty one keeps the stored value, so that
// opening a folder without its config does not erase a description.
func describe(a fika.Agent, n NewAgent) (fika.Agent, bool) {
	changed := false
	set := func(have *string, want string) {
		if want != "" && *have != want {
			*have, changed = want, true
		}
	}
	set(&a.HomeID, n.HomeID)
	set(&a.DisplayName, n.DisplayName)
	set(&a.Description, n.Description)
	return a, changed
}

// Agent returns the agent with the given name. It fails with NotFound.
func (s Agents) Agent(ctx context.Context, name fika.AgentName) (fika.Agent, error) {
	const op = "read agent"
	a, ok, err := one(ctx, s.r, scanAgent, selectAgent+` WHERE a.name = ?`, name)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "agent %q not found", name)
	}
	return a, s.explain(op, err)
}

// ListAgents returns all agents, sorted by name.
func (s Agents) ListAgents(ctx context.Context) ([]fika.Agent, error) {
	all, err := many(ctx, s.r, scanAgent, selectAgent+` WHERE a.id <> '`+flowAgent+`' ORDER BY a.name`)
	return all, s.explain("list agents", err)
}

// AgentNames returns the names of all agents, sorted, the reserved one of runs
// included.
func (s Agents) AgentNames(ctx context.Context) ([]fika.AgentName, error) {
	all, err := many(ctx, s.r, func(sc scanner) (n fika.AgentName, err error) { return n, sc.Scan(&n) }, `SELECT name FROM agents ORDER BY name`)
	return all, s.explain("list agents", err)
}

// SetDesired stores what a person wants of the agent's process; wanting it to run
// also clears a failed or unhealthy state.
func (s Agents) SetDesired(ctx context.Context, id fika.AgentID, d fika.Desired) error {
	return s.updateAgent(ctx, "set desired", id, `UPDATE agents SET desired = ?,
state_reason = CASE WHEN ? = 'running' AND state IN ('failed', 'unhealthy') THEN '' ELSE state_reason END,
state = CASE WHEN ? = 'running' AND state IN ('failed', 'unhealthy') THEN 'stopped' ELSE state END
WHERE id = ?`, d, d, d, id)
}

// ReplaceDesired stores to if the desired state is still from. If somebody has asked
// for something else in the meantime, nothing changes.
func (s Agents) ReplaceDesired(ctx context.Context, id fika.AgentID, from, to fika.Desired) error {
	return s.write(ctx, "replace desired", func(ctx context.Context, t *tx) error {
		_, err := t.tellAgents(ctx, `UPDATE agents SET desired = ? WHERE id = ? AND desired = ?`, to, id, from)
		return err
	})
}

// SetState stores the state that the supervisor observed (failed, unhealthy,
// stopped).
func (s Agents) SetState(ctx context.Context, id fika.AgentID, state fika.AgentState, reason string) error {
	return s.updateAgent(ctx, "set state", id, `UPDATE agents SET state = ?, state_reason = ? WHERE id = ?`, state, reason, id)
}

func (s Agents) updateAgent(ctx context.Context, op string, id fika.AgentID, text string, args ...any) error {
	return s.write(ctx, op, func(ctx context.Context, t *tx) error {
		n, err := t.tellAgents(ctx, text, args...)
		if err == nil && n == 0 {
			err = fika.Errorf(fika.NotFound, op, "no agent with id %q", id)
		}
		return err
	})
}

// RenameAgent changes an agent's name; ids stay. It fails with Conflict if the name
// is taken.
func (s Agents) RenameAgent(ctx context.Context, id fika.AgentID, name fika.AgentName) error {
	const op = "rename agent"
	return s.write(ctx, op, func(ctx context.Context, t *tx) error {
		holder, taken, err := one(ctx, t, scanText, `SELECT id FROM agents WHERE name = ?`, name)
		if err != nil {
			return err
		}
		if taken && holder != string(id) {
			return fika.Errorf(fika.Conflict, op, "the name %q is taken", name)
		}
		n, err := t.tellAgents(ctx, `UPDATE agents SET name = ? WHERE id = ?`, name, id)
		if err == nil && n == 0 {
			err = fika.Errorf(fika.NotFound, op, "no agent with id %q", id)
		}
		return err
	})
}

// DeleteAgent removes an agent with its ask and task conversations, requests and
// notifications. It fails with Locked while somebody holds the lease.
func (s Agents) DeleteAgent(ctx context.Context, id fika.AgentID) error {
	const op = "delete agent"
	return s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		a, err := agentsIn(t).lockAgent(ctx, id)
		if err != nil {
			return err
		}
		if a.Owner != "" && ms(a.LeaseUntil) > t.now {
			return fika.Errorf(fika.Locked, op, "%s is at work (%s): stop it first", a.Name, a.Owner)
		}
		if err := childrenIn(t).orphan(ctx, `p.agent = ?`, id); err != nil {
			return err
		}
		if err := t.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.agent = ? AND r.finished_at = 0 ORDER BY r.n`+lockRequest, id); err != nil {
			return err
		}
		if err := t.lockAll(ctx, `SELECT c.id FROM conversations c WHERE c.agent = ? AND c.agent <> '' ORDER BY c.id`+lockConversation, id); err != nil {
			return err
		}
		if err := flowsIn(t).endDeleted(ctx, "the agent "+string(a.Name)+" was deleted", `s.request <> '' AND s.request IN (SELECT r.id FROM requests r WHERE r.agent = ? AND r.finished_at = 0)`, id); err != nil {
			return err
		}
		if err := boardIn(t).agentDeleted(ctx, a); err != nil {
			return err
		}
		if _, err := t.tellConversations(ctx, Deleted, `DELETE FROM conversations WHERE agent = ? AND agent <> ''`, id); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `DELETE FROM participants WHERE agent = ?`, id); err != nil {
			return err
		}
		t.tell(event{kind: AgentEvent, agent: id, state: Deleted})
		_, err = t.exec(ctx, `DELETE FROM agents WHERE id = ?`, id) // requests and notifications cascade
		return err
	})
}

// ActiveAsk returns the active ask conversation of an agent and creates it on first
// use.
func (s Agents) ActiveAsk(ctx context.Context, id fika.AgentID) (fika.Conversation, error) {
	const op = "active ask"
	c, ok, err := one(ctx, s.r, scanConversation, selectConversation+` JOIN agents a ON a.active_ask = c.id WHERE a.id = ?`, id)
	if ok || err != nil {
		return c, s.explain(op, err)
	}
	err = s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		c, err = agentsIn(t).activeAsk(ctx, id)
		return err
	})
	return c, err
}

// agentRows writes agents and the conversation that people have with each of them.
type agentRows struct{ *tx }

func agentsIn(t *tx) agentRows { return agentRows{t} }

// lockAgent begins the transaction with the agent locked. It fails with NotFound.
func (t agentRows) lockAgent(ctx context.Context, id fika.AgentID) (fika.Agent, error) {
	var a fika.Agent
	found := false
	err := t.begin(ctx, first(&a, &found, scanAgent, selectAgent+` WHERE a.id = ?`+lockAgent, id))
	if err == nil && !found {
		err = fika.Errorf(fika.NotFound, "agent", "no agent with id %q", id)
	}
	return a, err
}

// lockAll locks the rows that a query selects, in the query's order.
func (t *tx) lockAll(ctx context.Context, text string, args ...any) error {
	if !t.c.distant() {
		return nil
	}
	_, err := many(ctx, t, scanText, text, args...)
	return err
}

// activeAsk returns the active ask conversation of an agent and creates it if there
// is none. The agent is locked before the conversation is created.
func (t agentRows) activeAsk(ctx context.Context, id fika.AgentID) (fika.Conversation, error) {
	c, ok, err := one(ctx, t, scanConversation, selectConversation+` JOIN agents a ON a.active_ask = c.id WHERE a.id = ?`, id)
	if ok || err != nil {
		return c, err
	}
	if t.c.distant() {
		if err := t.lockAll(ctx, `SELECT a.id FROM agents a WHERE a.id = ?`+lockAgent, id); err != nil {
			return c, err
		}
		if c, ok, err = one(ctx, t, scanConversation, selectConversation+` JOIN agents a ON a.active_ask = c.id WHERE a.id = ?`, id); ok || err != nil {
			return c, err
		}
	}
	return t.newAsk(ctx, id)
}

// newAsk creates an empty ask conversation and makes it the active one.
func (t agentRows) newAsk(ctx context.Context, id fika.AgentID) (fika.Conversation, error) {
	a, err := agentByID(ctx, t, id)
	if err != nil {
		return fika.Conversation{}, err
	}
	c, err := conversationsIn(t.tx).newConversation(ctx, conversationsIn(t.tx).generatedName(fika.Ask, a.Name), fika.Ask, id)
	if err != nil {
		return c, err
	}
	_, err = t.exec(ctx, `UPDATE agents SET active_ask = ? WHERE id = ?`, c.ID, id)
	return c, err
}

// ResetAsk completes the active ask conversation and makes a new, empty one active.
func (s Agents) ResetAsk(ctx context.Context, id fika.AgentID) (fika.Conversation, error) {
	var c fika.Conversation
	err := s.writeWith(ctx, "reset ask", durable, func(ctx context.Context, t *tx) error {
		if _, err := agentsIn(t).lockAgent(ctx, id); err != nil {
			return err
		}
		_, err := t.tellConversations(ctx, "", `UPDATE conversations SET status = 'completed', updated_at = ?
WHERE id = (SELECT active_ask FROM agents WHERE id = ?)`, t.now, id)
		if err != nil {
			return err
		}
		c, err = agentsIn(t).newAsk(ctx, id)
		return err
	})
	return c, err
}

// SwitchAsk makes an older ask conversation of the agent the active one again. It
// fails with NotFound if the conversation is not one of the agent's asks.
func (s Agents) SwitchAsk(ctx context.Context, id fika.AgentID, to fika.ConversationID) error {
	const op = "switch ask"
	return s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		if _, err := agentsIn(t).lockAgent(ctx, id); err != nil {
			return err
		}
		n, err := t.tellConversations(ctx, "", `UPDATE conversations SET status = 'active' WHERE id = ? AND agent = ? AND kind = 'ask'`, to, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return fika.Errorf(fika.NotFound, op, "%q is not an ask conversation of this agent", to)
		}
		_, err = t.exec(ctx, `UPDATE agents SET active_ask = ? WHERE id = ?`, to, id)
		return err
	})
}
