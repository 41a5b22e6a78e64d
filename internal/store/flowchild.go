package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"fika"
)

// maxRunsAbove bounds how many runs may wait for each other.
const maxRunsAbove = 8

// by returns what the one who asks for a run is.
func (n NewRun) by() fika.Writer {
	if n.writer == "" {
		return fika.ByHuman
	}
	return n.writer
}

// chainOf returns the chain of a run with an id: that of the turn that waits for it, or one
// of its own.
func (n NewRun) chainOf(id fika.RequestID) fika.RequestID {
	if n.under != nil {
		return n.under.chain
	}
	return id
}

// ownChain returns the chain that a step has to itself; "" if it belongs to that of an agent
// that waits for the run: see [spentBelow].
func (a *applying) ownChain(chain fika.RequestID) fika.RequestID {
	if a.chain != "" {
		return ""
	}
	return chain
}

// speaker returns in whose name the steps of a run ask: that of the person who began it. If an
// agent did, the run speaks for itself: a step may ask that same agent, which must not take
// the prompt for its own words.
func (a *applying) speaker() string {
	if a.view.Writer == fika.ByAgent {
		return flowAgent
	}
	return a.view.From
}

// runsAbove selects the workflows of the runs that a request works for, the nearest first.
const runsAbove = `WITH RECURSIVE up (id, parent, n) AS (
SELECT id, parent, 0 FROM requests WHERE id = ?
UNION ALL SELECT p.id, p.parent, up.n + 1 FROM requests p JOIN up ON p.id = up.parent WHERE up.parent <> '')
SELECT f.name FROM up JOIN flow_runs f ON f.request = up.id ORDER BY up.n`

// childRun stores the run that a tool step waits for, and marks the step started. It fails
// with Limit if too many runs wait for each other.
func (t childRows) childRun(ctx context.Context, _ string, r turn, d Delegation) (Child, error) {
	op, out := "run workflow", Child{N: d.N}
	st, err := t.step(ctx, op, r, d.N)
	if err != nil {
		return out, err
	}
	if st.State != fika.StepPlanned {
		return out, fika.Errorf(fika.Conflict, op, "step %s/%d is %s and not begun again", r.id, d.N, st.State)
	}
	above, err := many(ctx, t, scanText, runsAbove, r.id)
	if err != nil {
		return out, err
	}
	if len(above) >= maxRunsAbove {
		slices.Reverse(above)
		return out, fika.Errorf(fika.Limit, op, "%d runs wait for each other already: %s", len(above), strings.Join(append(above, d.Run.Name), " > "))
	}
	n := *d.Run
	n.ID, n.From, n.writer, n.under, n.Rights, n.Taint = ChildID(r.id, d.N), string(r.agentName), fika.ByAgent, &r, d.Rights, d.Taint
	n.Deadline = at(t.deadlineOf(r, d.Deadline))
	run, err := flowsIn(t.tx).startRun(ctx, n)
	if err != nil {
		return out, err
	}
	q, _, err := one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`, run.Request)
	if err != nil {
		return out, err
	}
	out.RequestInfo = RequestInfo{Request: q, AgentName: flowAgent, ConversationName: run.Where}
	return out, t.startStep(ctx, r, st, string(n.ID))
}

// deadlineOf returns when a child of r that has so much time has to be done.
func (t childRows) deadlineOf(r turn, most time.Duration) int64 {
	deadline := t.now + most.Milliseconds()
	if r.deadline > 0 {
		deadline = min(deadline, r.deadline)
	}
	return deadline
}

// spentBelow sums what the live steps of a run have used that share the chain of an agent,
// with what those have delegated, and the run has not counted yet. Between spentOf and
// spentSum stands which steps s are meant.
const (
	spentBelow = spentOf + `s.run = (SELECT f.id FROM flow_runs f JOIN requests p ON p.id = f.request WHERE f.id = ? AND p.parent <> '') AND s.live = 1` + spentSum
	spentOf    = `WITH RECURSIVE mine (request, conversation) AS (
SELECT s.request, CASE WHEN s.kind = 'chat' THEN s.conversation ELSE '' END FROM flow_steps s WHERE `
	spentSum = ` AND s.chain = '' AND s.counted = 0),
down (id) AS (
SELECT m.request FROM mine m WHERE m.request <> ''
UNION ALL SELECT q.id FROM mine m JOIN requests q ON q.conversation = m.conversation WHERE m.conversation <> ''
UNION ALL SELECT k.id FROM down d JOIN steps st ON st.request = d.id AND st.pre_hash <> '' JOIN requests k ON k.id = st.pre_hash AND k.parent = st.request)
SELECT COALESCE(sum(x.turns), 0), COALESCE(sum(x.tokens), 0), COALESCE(sum(x.cost), 0) FROM (
SELECT CASE WHEN q.kind <> 'workflow' AND q.started_at > 0 THEN 1 ELSE 0 END AS turns, 0 AS tokens, 0 AS cost FROM down d JOIN requests q ON q.id = d.id
UNION ALL SELECT 0, u.input + u.output, u.cost FROM down d JOIN usage u ON u.request = d.id
UNION ALL SELECT f.turns, f.tokens, f.cost FROM down d JOIN flow_runs f ON f.id = d.id) x`
)

// countBelow adds what steps of a run that an agent waits for have used to the run, once.
// which is a condition on steps s.
func (a *applying) countBelow(ctx context.Context, which string, args ...any) error {
	type spent struct{ turns, tokens, cost int64 }
	used, _, err := one(ctx, a.tx, func(s scanner) (u spent, err error) { return u, s.Scan(&u.turns, &u.tokens, &u.cost) }, spentOf+which+spentSum, args...)
	if err != nil {
		return err
	}
	if err := a.put(ctx, `UPDATE flow_steps AS s SET counted = 1 WHERE `+which+` AND s.chain = '' AND s.counted = 0`, args...); err != nil {
		return err
	}
	return a.put(ctx, `UPDATE flow_runs SET turns = turns + ?, tokens = tokens + ?, cost = cost + ? WHERE id = ?`, used.turns, used.tokens, used.cost, a.view.ID)
}

// endChild counts what a run that an agent waits for has used in the agent's chain, and
// leaves the agent what text from outside its steps have read. The run's request is locked.
func (a *applying) endChild(ctx context.Context, r turn) error {
	if r.parent == "" {
		return nil
	}
	if err := a.countBelow(ctx, `s.run = ?`, a.view.ID); err != nil {
		return err
	}
	return a.put(ctx, `UPDATE requests SET taint = COALESCE((SELECT s.taint FROM flow_steps s WHERE s.run = ? AND s.taint <> '' LIMIT 1), '') WHERE id = ? AND taint = ''`, a.view.ID, r.id)
}
