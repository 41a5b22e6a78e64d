package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/crash"
	"fika/internal/workflow"
)

// Applied tells what [Flows.Apply] stored.
type Applied struct {
	// Stale says that the run is not as the view had it: nothing was stored, and
	// whoever worked out the plan looks again.
	Stale bool
	Wake  []fika.AgentName // who has work now, or is to stop
	Begun []Begun          // discussions
	Run   Run              // as it is now
}

// Begun is a discussion that has begun, and the message it begins with.
type Begun struct {
	Posted
	Conversation fika.Conversation
}

// errStale ends a transaction whose plan is of another time. It has a kind when
// it is returned: an error without one that a server did not give counts as a
// lost connection.
var errStale = errors.New("the run has changed")

func stale() error { return fika.Wrap(fika.Conflict, "advance run", errStale) }

// Apply stores a plan, all of it or nothing: rows, outputs, what begins and what
// is cancelled, and the result with which the run ends. answer is what the
// result says as one text. What begins has ids that follow from its row, so that
// nothing begins twice.
//
// A plan is stored if nobody has changed the run since it was seen, and no row
// that the plan is about has ended meanwhile. Other rows may have: what ends
// does not wait for the run, and is seen by the next plan.
func (s Flows) Apply(ctx context.Context, v RunView, p workflow.Plan, answer string) (Applied, error) {
	const op = "advance run"
	crash.Point("plan run")
	var out Applied
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = Applied{}
		a := applying{tx: t, view: v, plan: p, out: &out, states: map[string]workflow.State{}, agents: map[string]string{}}
		return a.apply(ctx, answer)
	})
	if errors.Is(err, errStale) {
		return Applied{Stale: true}, nil
	}
	return out, err
}

// applying is one try to store a plan.
type applying struct {
	*tx
	view   RunView
	plan   workflow.Plan
	out    *Applied
	states map[string]workflow.State // of the rows of the plan that are stored
	agents map[string]string         // ids, by name
	given                            // with the run, by whoever began it
}

// given is what bounds all that a run begins.
type given struct {
	rights *fika.Rights
	taint  string
}

func scanGiven(s scanner) (g given, err error) {
	var rights string
	if err = s.Scan(&rights, &g.taint); err == nil {
		g.rights, err = readRights(rights)
	}
	return g, err
}

func (a *applying) apply(ctx context.Context, answer string) error {
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
		if a.given, _, err = one(ctx, a.tx, scanGiven, `SELECT rights, taint FROM requests WHERE id = ?`, a.view.Request); err != nil {
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
		if err := a.putFlowRow(ctx, a.view.ID, a.plan.Rows[i]); err != nil {
			return err
		}
	}
	for _, o := range a.plan.Outputs {
		if err := a.putOutput(ctx, a.view.ID, o.Row, o.JSON, o.Text); err != nil {
			return err
		}
	}
	for _, c := range a.plan.Calls {
		if err := a.call(ctx, c); err != nil {
			return err
		}
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
	a.out.Run, _, err = one(ctx, a.tx, scanRun, selectRun+` WHERE f.id = ?`, a.view.ID)
	return err
}

// lockRun locks the run and raises its version, if it still is the one that was
// seen.
func (a *applying) lockRun(ctx context.Context) error {
	if err := a.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.id = ?`+lockRequest, a.view.Request); err != nil {
		return err
	}
	n, err := a.exec(ctx, `UPDATE flow_runs SET version = version + 1, due = ?, wake_at = ? WHERE id = ? AND version = ? AND ended_at = 0`,
		number(a.plan.More), ms(a.plan.WakeAt), a.view.ID, a.view.Version)
	if err == nil && n == 0 && !crash.Without(crash.Stale) {
		err = stale()
	}
	return err
}

// checkRows locks what is to be cancelled, so that it cannot end any more, and
// sees that no row of the plan is another one than the plan was worked out for.
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
			return stale()
		}
	}
	return nil
}

// findAgents looks up who is called.
func (a *applying) findAgents(ctx context.Context) error {
	var list []statement
	ids := map[string]*string{}
	for _, c := range a.plan.Calls {
		for _, name := range called(c) {
			if ids[name] == nil {
				ids[name] = new(string)
				list = append(list, first(ids[name], nil, scanText, `SELECT id FROM agents WHERE name = ?`, name))
			}
		}
	}
	err := a.run(ctx, list...)
	for name, id := range ids {
		a.agents[name] = *id
	}
	return err
}

// called names the agents of a call.
func called(c workflow.Call) []string {
	switch c.Kind {
	case workflow.KindAgent:
		return []string{c.Agent}
	case workflow.KindChat:
		return c.Chat.Agents
	}
	return nil
}

// refuseUnknown fails a row that calls an agent which is not there.
func (a *applying) refuseUnknown(r *workflow.Row) {
	i := slices.IndexFunc(a.plan.Calls, func(c workflow.Call) bool { return c.Row == r.ID })
	if i < 0 {
		return
	}
	for _, name := range called(a.plan.Calls[i]) {
		if a.agents[name] != "" {
			continue
		}
		r.State, r.Reason, r.Error, r.Ended = workflow.Failed, string(fika.NotFound), "there is no agent named "+name, at(a.now)
		if name == "" {
			r.Error = fmt.Sprintf("no agent has the capability %q", a.plan.Calls[i].Capability)
		}
		a.plan.Calls = slices.Delete(slices.Clone(a.plan.Calls), i, i+1)
		return
	}
}

// putFlowRow stores a row as it is.
func (t *tx) putFlowRow(ctx context.Context, run fika.RequestID, r workflow.Row) error {
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

// putOutput stores what a row gave.
func (t *tx) putOutput(ctx context.Context, run fika.RequestID, row string, isJSON bool, text string) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "%t\x00%s", isJSON, text))
	hash := hex.EncodeToString(sum[:16])
	if err := t.put(ctx, `INSERT INTO flow_outputs (run, hash, json, content) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, run, hash, number(isJSON), text); err != nil {
		return err
	}
	return t.put(ctx, `UPDATE flow_steps SET output = ? WHERE id = ?`, hash, row)
}

// StepRequestID is the id of the request that a row of a run begins. It follows
// from the row, so that one row never has two.
func StepRequestID(row string) fika.RequestID {
	return fika.RequestID(ownUUID("workflow step\x00" + row))
}

// call begins what a row is for.
func (a *applying) call(ctx context.Context, c workflow.Call) error {
	switch c.Kind {
	case workflow.KindChat:
		return a.beginDiscussion(ctx, c)
	case workflow.KindApproval:
		return a.askPerson(ctx, c)
	}
	p := fika.Payload{Prompt: c.Prompt, From: a.view.From, Writer: fika.ByHuman, Background: true}
	if c.JSON {
		p.Form = &fika.AnswerForm{Schema: c.Schema}
	}
	taint, err := a.taintOf(ctx, c)
	if err != nil {
		return err
	}
	acc, err := requestsIn(a.tx).accept(ctx, NewRequest{
		ID: StepRequestID(c.Row), Kind: fika.TaskRequest, Origin: fika.Queued, Agent: fika.AgentID(a.agents[c.Agent]), Parent: a.view.Request, Payload: p, Rights: a.rights, Taint: taint,
	})
	if err == nil && acc.Repeat {
		err = fika.Errorf(fika.Conflict, "advance run", "request %s exists already", acc.Request.ID)
	}
	if err != nil {
		return err
	}
	a.out.Wake = append(a.out.Wake, fika.AgentName(c.Agent))
	if err := a.put(ctx, `UPDATE conversations SET run = ? WHERE id = ?`, a.view.ID, acc.Conversation.ID); err != nil {
		return err
	}
	return a.put(ctx, `UPDATE flow_steps SET request = ?, agent = ?, chain = ?, begun_at = ? WHERE id = ?`,
		acc.Request.ID, c.Agent, acc.Request.Chain, a.now, c.Row)
}

// taintOf says what text from outside the prompt of a call comes from. What is
// handed on through lists, rounds and workflows inside is not followed: there,
// and where such a one is read, all that is tainted in the run counts.
func (a *applying) taintOf(ctx context.Context, c workflow.Call) (string, error) {
	if a.taint != "" {
		return a.taint, nil
	}
	type source struct{ kind, taint string }
	anything := a.row(c.Row).Parent != ""
	if len(c.Sources) > 0 && !anything {
		args := []any{}
		for _, id := range c.Sources {
			args = append(args, id)
		}
		list, err := many(ctx, a.tx, func(sc scanner) (s source, err error) { return s, sc.Scan(&s.kind, &s.taint) },
			`SELECT kind, taint FROM flow_steps WHERE id IN (`+placeholders(len(args))+`)`, args...)
		if err != nil {
			return "", err
		}
		for _, s := range list {
			if s.taint != "" {
				return s.taint, nil
			}
			anything = anything || s.kind == workflow.KindEach || s.kind == workflow.KindRepeat || s.kind == workflow.KindWorkflow
		}
	}
	if !anything {
		return "", nil
	}
	taint, _, err := one(ctx, a.tx, scanText, `SELECT taint FROM flow_steps WHERE run = ? AND taint <> '' LIMIT 1`, a.view.ID)
	return taint, err
}

// row is a row of the plan.
func (a *applying) row(id string) workflow.Row {
	i := slices.IndexFunc(a.plan.Rows, func(r workflow.Row) bool { return r.ID == id })
	return a.plan.Rows[i] // a call is one of a row of its plan
}

// beginDiscussion makes the chat of a row, and says in it what it is about.
func (a *applying) beginDiscussion(ctx context.Context, c workflow.Call) error {
	conv, err := conversationsIn(a.tx).newConversation(ctx, discussionName(a.view.Name, a.row(c.Row).Path, c.Row), fika.Chat, "")
	if err != nil {
		return err
	}
	if err := a.put(ctx, `UPDATE conversations SET run = ? WHERE id = ?`, a.view.ID, conv.ID); err != nil {
		return err
	}
	p := Post{
		Conversation: conv.ID, ID: fika.EntryID(StepRequestID(c.Row)), From: a.view.From, Writer: fika.ByHuman, WriterName: a.view.From, Content: c.Prompt,
		Rights: a.rights,
	}
	if p.Taint, err = a.taintOf(ctx, c); err != nil {
		return err
	}
	for _, name := range c.Chat.Agents {
		p.Notify = append(p.Notify, fika.AgentName(name))
	}
	var f posting
	if err := a.run(ctx, f.asking(p)...); err != nil {
		return err
	}
	posted, err := postsIn(a.tx).post(ctx, conv, p, f, at(a.now))
	if err != nil {
		return err
	}
	a.out.Begun = append(a.out.Begun, Begun{posted, conv})
	a.out.Wake = append(a.out.Wake, p.Notify...)
	call, err := toJSON("advance run", c.Chat)
	if err != nil {
		return err
	}
	return a.put(ctx, `UPDATE flow_steps SET conversation = ?, chain = ?, begun_at = ?, inputs = ? WHERE id = ?`, conv.ID, posted.Entry.Chain, a.now, call, c.Row)
}

// discussionName names the chat of a row: what it is, and what makes it unique.
func discussionName(flow, path, row string) fika.ConversationName {
	var b strings.Builder
	for _, c := range strings.ToLower(flow + "-" + path) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := b.String()
	return fika.ConversationName(strings.Trim(name[:min(len(name), 48)], "-") + "-" + row[:8])
}

// askPerson stores the question of a row.
func (a *applying) askPerson(ctx context.Context, c workflow.Call) error {
	path := a.row(c.Row).Path
	args, err := json.Marshal(map[string]string{"run": string(a.view.ID), "step": path, "question": c.Prompt})
	if err != nil {
		return err
	}
	return a.put(ctx, `INSERT INTO approvals (request, step, tool, args, what, bound, flow_step, asked_at, expires_at) VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?)`,
		a.view.Request, flowAgent, string(args), path, c.Row, c.Row, a.now, ms(c.Deadline))
}

// cancelStep ends what was begun for a row.
func (a *applying) cancelStep(ctx context.Context, id string) error {
	type begun struct{ request, conversation, agent string }
	b, ok, err := one(ctx, a.tx, func(sc scanner) (b begun, err error) { return b, sc.Scan(&b.request, &b.conversation, &b.agent) },
		`SELECT request, conversation, agent FROM flow_steps WHERE id = ?`, id)
	if err != nil || !ok {
		return err
	}
	switch {
	case b.request != "":
		a.out.Wake = append(a.out.Wake, fika.AgentName(b.agent))
		return a.cancel(ctx, fika.RequestID(b.request), "the run needs it no longer")
	case b.conversation != "":
		names, err := many(ctx, a.tx, func(sc scanner) (n fika.AgentName, err error) { return n, sc.Scan(&n) },
			`SELECT DISTINCT a.name FROM requests r JOIN agents a ON a.id = r.agent WHERE r.conversation = ? AND r.finished_at = 0`, b.conversation)
		if err != nil {
			return err
		}
		a.out.Wake = append(a.out.Wake, names...)
		_, err = pausesIn(a.tx).stopChat(ctx, fika.ConversationID(b.conversation))
		return err
	}
	return a.put(ctx, `UPDATE approvals SET state = 'expired' WHERE flow_step = ? AND flow_step <> '' AND state = 'open'`, id)
}

// countSpent adds what ended rows of the plan have used to the run, once.
func (a *applying) countSpent(ctx context.Context) error {
	var ended []any
	for _, r := range a.plan.Rows {
		if r.State.Ended() {
			ended = append(ended, r.ID)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	type used struct {
		id                  string
		turns, tokens, cost int64
	}
	list, err := many(ctx, a.tx, func(sc scanner) (u used, err error) { return u, sc.Scan(&u.id, &u.turns, &u.tokens, &u.cost) },
		`SELECT s.id, ch.turns, ch.tokens, ch.cost FROM flow_steps s JOIN chains ch ON ch.root = s.chain
WHERE s.id IN (`+placeholders(len(ended))+`) AND s.chain <> '' AND s.counted = 0`, ended...)
	if err != nil || len(list) == 0 {
		return err
	}
	var sum used
	for _, u := range list {
		sum.turns, sum.tokens, sum.cost = sum.turns+u.turns, sum.tokens+u.tokens, sum.cost+u.cost
		if err := a.put(ctx, `UPDATE flow_steps SET counted = 1 WHERE id = ?`, u.id); err != nil {
			return err
		}
	}
	return a.put(ctx, `UPDATE flow_runs SET turns = turns + ?, tokens = tokens + ?, cost = cost + ? WHERE id = ?`, sum.turns, sum.tokens, sum.cost, a.view.ID)
}

// endRun gives the run its result, and its request the outcome.
func (a *applying) endRun(ctx context.Context, answer string) error {
	result := a.plan.Result
	text, err := toJSON("advance run", result)
	if err != nil {
		return err
	}
	r, err := a.lockTurn(ctx, a.view.Request)
	if err != nil {
		return err
	}
	e := ending{state: fika.Done, outcome: fika.Outcome{Answer: answer, Usage: fika.Usage{}}}
	switch result.State {
	case workflow.Done:
	case workflow.Cancelled:
		e.state, e.reason, e.outcome.ErrorKind = fika.Cancelled, orText(r.reason, result.Error), fika.Interrupted
	default:
		e.state, e.reason, e.outcome.ErrorKind = fika.RequestFailed, result.Error, fika.Failed
		if result.Reason == workflow.ReasonLimit {
			e.outcome.ErrorKind = fika.Limit
		}
	}
	if answer != "" {
		said := fika.Entry{
			Conversation: a.view.Conversation, From: flowAgent, To: a.view.From, Content: answer, Type: fika.Message, Request: r.id, Chain: r.chain, Depth: 1,
			Meta: fika.EntryMeta{Writer: fika.BySystem, WriterName: flowAgent, Final: true},
		}
		if err := a.append(ctx, &said); err != nil {
			return err
		}
		e.outcome.Entry, e.outcome.Seq = said.ID, said.Seq
	}
	if _, err := a.end(ctx, r, e); err != nil {
		return err
	}
	return a.put(ctx, `UPDATE flow_runs SET result = ?, ended_at = ?, due = 0, wake_at = 0 WHERE id = ?`, text, a.now, a.view.ID)
}

// orText gives the first that is not empty.
func orText(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
