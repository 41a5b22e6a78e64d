package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fika"
	"fika/internal/system/crash"
	"fika/internal/workflow"
)

// Applied reports what [Flows.Apply] stored.
type Applied struct {
	// Stale means that a row of the plan has ended in the meantime: nothing was
	// stored, and the caller looks at the run again.
	Stale bool
	// Overtaken means that somebody else has changed the run in the meantime: nothing
	// was stored. The process that was quicker looks again before it leaves the run.
	Overtaken bool
	Wake      []fika.AgentName // agents that have work now, or are to stop
	Said      []Said           // posts in chats: the opening of a discussion, or the result of the run
	Run       Run              // as it stands afterwards
}

// Said is a message that a run posted, and its chat.
type Said struct {
	Posted
	Conversation fika.Conversation
}

// Answer is the result of a run as text.
type Answer struct {
	Text string // empty: nothing
	Chat string // the text posted in the chat in which the run was begun
}

// These errors end a transaction whose plan is out of date. They are given a kind
// before they are returned: an error without a kind that did not come from a server
// counts as a lost connection.
var (
	errStale     = errors.New("a row has changed")
	errOvertaken = errors.New("the run has changed")
)

func outdated(why error) error { return fika.Wrap(fika.Conflict, "advance run", why) }

// Apply stores a plan, all of it or nothing: rows, outputs, new work, cancellations,
// and the result with which the run ends. answer is that result as text. New work has
// ids derived from its row, so that nothing begins twice.
//
// A plan is stored only if nobody has changed the run since v was read and no row of
// the plan has ended in the meantime. Other rows may have ended: an end does not wait
// for the run, and the next plan sees it.
func (s Flows) Apply(ctx context.Context, v RunView, p workflow.Plan, answer Answer) (Applied, error) {
	const op = "advance run"
	crash.Point("plan run")
	var out Applied
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = Applied{}
		a := applying{tx: t, view: v, plan: p, out: &out, states: map[string]workflow.State{}, agents: map[string]called{}}
		return a.apply(ctx, answer)
	})
	switch {
	case errors.Is(err, errStale):
		return Applied{Stale: true}, nil
	case errors.Is(err, errOvertaken):
		return Applied{Overtaken: true}, nil
	}
	return out, err
}

// applying is one try to store a plan.
type applying struct {
	*tx
	view   RunView
	plan   workflow.Plan
	out    *Applied
	states map[string]workflow.State // of the run's live rows as stored
	agents map[string]called         // by name
	given                            // the bounds that came with the run
}

// called is an agent that a plan calls.
type called struct {
	id   string // empty: there is none of that name
	pool bool
}

// given bounds everything that a run begins.
type given struct {
	rights *fika.Rights
	taint  string
	chain  fika.RequestID // of the agent that waits for the run; empty: each step begins its own
	depth  int
}

const selectGiven = `SELECT rights, taint, CASE WHEN parent = '' THEN '' ELSE chain END, depth FROM requests WHERE id = ?`

func scanGiven(s scanner) (g given, err error) {
	var rights string
	if err = s.Scan(&rights, &g.taint, &g.chain, &g.depth); err == nil {
		g.rights, err = readRights(rights)
	}
	return g, err
}

func (a *applying) apply(ctx context.Context, answer Answer) error {
	if err := a.lockRun(ctx); err != nil {
		return err
	}
	if err := a.checkRows(ctx); err != nil {
		return err
	}
	if err := a.findAgents(ctx); err != nil {
		return err
	}
	if len(a.plan.Calls) > 0 {
		var err error
		if a.given, _, err = one(ctx, a.tx, scanGiven, selectGiven, a.view.Request); err != nil {
			return err
		}
	}
	for _, id := range a.plan.Cancel {
		if err := a.cancelStep(ctx, id); err != nil {
			return err
		}
	}
	for i := range a.plan.Rows {
		a.refuseUnknown(&a.plan.Rows[i])
		if err := flowsIn(a.tx).putFlowRow(ctx, a.view.ID, a.plan.Rows[i]); err != nil {
			return err
		}
	}
	for _, o := range a.plan.Outputs {
		if err := flowsIn(a.tx).putOutput(ctx, a.view.ID, o.Row, o.JSON, o.Text); err != nil {
			return err
		}
	}
	for _, c := range a.plan.Calls {
		if err := a.call(ctx, c); err != nil {
			return err
		}
	}
	if err := a.postAll(ctx); err != nil {
		return err
	}
	if err := a.countSpent(ctx); err != nil {
		return err
	}
	if a.plan.Result != nil {
		if err := a.endRun(ctx, answer); err != nil {
			return err
		}
	}
	var err error
	if a.out.Run, _, err = one(ctx, a.tx, scanRun, selectRun+` WHERE f.id = ?`, a.view.ID); err == nil {
		a.tellRun(a.out.Run, string(a.out.Run.State), EventData{})
	}
	return err
}

// lockRun locks the run and raises its version, provided that it is still the version
// that the plan was made for.
func (a *applying) lockRun(ctx context.Context) error {
	if err := a.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.id = ?`+lockRequest, a.view.Request); err != nil {
		return err
	}
	n, err := a.exec(ctx, `UPDATE flow_runs SET version = version + 1, due = ?, wake_at = ? WHERE id = ? AND version = ? AND ended_at = 0`,
		number(a.plan.More), ms(a.plan.WakeAt), a.view.ID, a.view.Version)
	if err == nil && n == 0 && !crash.Without(crash.Stale) {
		err = outdated(errOvertaken)
	}
	return err
}

// checkRows locks the work to be cancelled, so that it cannot end any more, and
// checks that every row of the plan is still in the state that the plan was worked
// out for.
func (a *applying) checkRows(ctx context.Context) error {
	if len(a.plan.Cancel) > 0 {
		args := []any{}
		for _, id := range a.plan.Cancel {
			args = append(args, id)
		}
		err := a.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.id IN (SELECT s.request FROM flow_steps s WHERE s.id IN (`+placeholders(len(args))+`) AND s.request <> '') ORDER BY r.n`+lockRequest, args...)
		if err != nil {
			return err
		}
	}
	type known struct {
		id    string
		state workflow.State
	}
	list, err := many(ctx, a.tx, func(sc scanner) (k known, err error) { return k, sc.Scan(&k.id, &k.state) },
		`SELECT id, state FROM flow_steps WHERE run = ? AND live = 1`, a.view.ID)
	if err != nil {
		return err
	}
	for _, k := range list {
		a.states[k.id] = k.state
	}
	seen := map[string]workflow.State{}
	for _, r := range a.view.Rows {
		seen[r.ID] = r.State
	}
	for _, r := range a.plan.Rows {
		if a.states[r.ID] != seen[r.ID] && !crash.Without(crash.Stale) {
			return outdated(errStale)
		}
	}
	return nil
}

// findAgents looks up the agents that the plan calls.
func (a *applying) findAgents(ctx context.Context) error {
	var list []statement
	found := map[string]*called{}
	scan := func(s scanner) (c called, err error) { return c, s.Scan(&c.id, flag{&c.pool}) }
	for _, c := range a.plan.Calls {
		for _, name := range namesIn(c) {
			if found[name] == nil {
				found[name] = &called{}
				list = append(list, first(found[name], nil, scan, `SELECT id, CASE WHEN instances > 0 THEN 1 ELSE 0 END FROM agents WHERE name = ?`, name))
			}
		}
	}
	err := a.run(ctx, list...)
	for name, c := range found {
		a.agents[name] = *c
	}
	return err
}

// namesIn returns the names of the agents of a call.
func namesIn(c workflow.Call) []string {
	switch c.Kind {
	case workflow.KindAgent:
		return []string{c.Agent}
	case workflow.KindChat:
		return c.Chat.Agents
	}
	return nil
}

// refuseUnknown fails a row that calls an agent that does not exist or may not be asked.
func (a *applying) refuseUnknown(r *workflow.Row) {
	i := slices.IndexFunc(a.plan.Calls, func(c workflow.Call) bool { return c.Row == r.ID })
	if i < 0 {
		return
	}
	if why := a.plan.Calls[i].Refused; why != "" {
		r.State, r.Reason, r.Error, r.Ended = workflow.Failed, workflow.ReasonDenied, why, at(a.now)
		a.plan.Calls = slices.Delete(slices.Clone(a.plan.Calls), i, i+1)
		return
	}
	for _, name := range namesIn(a.plan.Calls[i]) {
		if a.agents[name].id != "" {
			continue
		}
		r.State, r.Reason, r.Error, r.Ended = workflow.Failed, string(fika.NotFound), "agent not found: "+name, at(a.now)
		if name == "" {
			r.Error = fmt.Sprintf("no agent has the capability %q", a.plan.Calls[i].Capability)
		}
		a.plan.Calls = slices.Delete(slices.Clone(a.plan.Calls), i, i+1)
		return
	}
}

// putFlowRow inserts or updates a row.
func (t flowRows) putFlowRow(ctx context.Context, run fika.RequestID, r workflow.Row) error {
	return t.put(ctx, `INSERT INTO flow_steps (id, run, path, parent, step, kind, position, attempt, attempts_before, state, reason, error,
not_before, deadline, ended_at, approved, redo, live, taken, source, winner, inputs, items, made, done, failed, first_failed, begun_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, error = excluded.error, not_before = excluded.not_before,
deadline = excluded.deadline, ended_at = excluded.ended_at, approved = excluded.approved, redo = excluded.redo, live = excluded.live,
taken = excluded.taken, source = excluded.source, winner = excluded.winner, inputs = excluded.inputs, items = excluded.items,
made = excluded.made, done = excluded.done, failed = excluded.failed, first_failed = excluded.first_failed`,
		r.ID, run, r.Path, r.Parent, r.Step, r.Kind, r.Index, r.Attempt, r.Before, r.State, r.Reason, r.Error,
		ms(r.NotBefore), ms(r.Deadline), ms(r.Ended), number(r.Approved), number(r.Redo), number(r.Live), number(r.Taken), r.From, r.First,
		string(r.Inputs), r.Count, r.Made, r.Done, r.Failed, r.FirstFailed, t.now)
}

// putOutput stores the output of a row.
func (t flowRows) putOutput(ctx context.Context, run fika.RequestID, row string, isJSON bool, text string) error {
	hash := workflow.Output{Text: text, JSON: isJSON}.Hash()
	if err := t.put(ctx, `INSERT INTO flow_outputs (run, hash, json, content) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, run, hash, number(isJSON), text); err != nil {
		return err
	}
	return t.put(ctx, `UPDATE flow_steps SET output = ? WHERE id = ?`, hash, row)
}
