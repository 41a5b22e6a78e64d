package store

import (
	"context"
	"encoding/json"
	"time"

	"fika"
	"fika/internal/system/crash"
	"fika/internal/text/hint"
	"fika/internal/workflow"
)

// flowAgent is the id and the name of the reserved agent whose requests stand for
// runs. It has a row, because requests refer to one, and nothing else: no folder, no
// process, no lease. [Agents.ListAgents] leaves it out.
const flowAgent = "workflow"

// NewRun describes a run to [Flows.Start].
type NewRun struct {
	ID         fika.RequestID // empty: made by the store; repeating a known id changes nothing
	Name       string         // of the workflow; empty: it has none
	Definition []byte         // from [workflow.Definition.Freeze]
	Inputs     []byte         // from [workflow.Definition.Bind], as JSON
	From       string         // who asked for it: a person or, if it is a child, an agent
	Title      string         // what lists show, in one line
	Deadline   time.Time      // zero: none
	Rights     *fika.Rights   // what its steps may do at most: the rights of whoever causes it
	Taint      string         // the outside source of its text; empty: a person's own
	In         *RunLine       // the line of a chat that began it; nil: none
	under      *turn          // whose tool step waits for it; nil: none
	writer     fika.Writer    // what From is; empty: a person
}

// Run is the state of a run of a workflow.
type Run struct {
	ID           fika.RequestID // the id that people use; it stays when the run is resumed
	Request      fika.RequestID // the request that stands for it now
	Conversation fika.ConversationID
	Where        fika.ConversationName
	Chat         fika.ConversationID // where it was begun and posts its result; empty: in none
	Name         string
	From         string
	Writer       fika.Writer // what From is
	Title        string
	Edition      int64 // of its definition: resuming the run may have changed it
	Version      int64 // raised by each change to a row of the run
	Paused       time.Time
	Stop         string // why it is to end; empty: it goes on
	Due          bool   // the next look has to advance it
	WakeAt       time.Time
	State        fika.RequestState
	Reason       string
	Outcome      fika.Outcome
	Spent        workflow.Spent // without what is under way
	Result       *workflow.Result
	Begun        time.Time
	Ended        time.Time
}

// Over reports whether the run has its result.
func (r Run) Over() bool { return !r.Ended.IsZero() }

// RunStep is a row of a run with the work that was begun for it.
type RunStep struct {
	workflow.Row
	Begun        time.Time
	Request      fika.RequestID        // of an agent's step
	Conversation fika.ConversationName // of a discussion
	Agent        fika.AgentName        // the agent that was asked
	Worker       fika.AgentName        // the agent that works it, if another
	Usage        workflow.Spent
	Approval     int64 // the question that waits for an answer; 0: none
}

// WorkedBy returns the agent that works a step.
func (s RunStep) WorkedBy() fika.AgentName {
	if s.Worker != "" {
		return s.Worker
	}
	return s.Agent
}

// Who returns @ and the name of the agent that works a step and, if another was
// asked, that one's, too.
func (s RunStep) Who() string { return whoWorks(s.Agent, s.Worker) }

func whoWorks(asked, worker fika.AgentName) string {
	if worker == "" {
		return "@" + string(asked)
	}
	return "@" + string(worker) + " for @" + string(asked)
}

// RunView is everything that working out a plan needs to know about a run, as of one
// moment.
type RunView struct {
	Run
	Rows  []workflow.Row // the live ones
	Spent workflow.Spent // including what is under way
	Now   time.Time
}

const selectRun = `SELECT f.id, f.request, f.conversation, c.name, f.name, r.asker, r.payload, f.edition, f.version, f.paused_at, f.stop, f.due, f.wake_at,
r.state, r.reason, r.outcome, f.turns, f.tokens, f.cost, f.result, f.begun_at, f.ended_at, f.chat
FROM flow_runs f JOIN requests r ON r.id = f.request JOIN conversations c ON c.id = f.conversation`

func scanRun(s scanner) (Run, error) { return runRow(s) }

// runRow scans a run, and the columns after it into more.
func runRow(s scanner, more ...any) (Run, error) {
	var r Run
	var payload, outcome, result string
	var paused, wake, cost, begun, ended int64
	dest := []any{&r.ID, &r.Request, &r.Conversation, &r.Where, &r.Name, &r.From, &payload, &r.Edition, &r.Version, &paused, &r.Stop, flag{&r.Due}, &wake,
		&r.State, &r.Reason, &outcome, &r.Spent.Turns, &r.Spent.Tokens, &cost, &result, &begun, &ended, &r.Chat}
	if err := s.Scan(append(dest, more...)...); err != nil {
		return r, err
	}
	r.Paused, r.WakeAt, r.Begun, r.Ended = at(paused), at(wake), at(begun), at(ended)
	r.Spent.Cost = dollars(cost)
	var p fika.Payload
	for text, to := range map[string]any{payload: &p, outcome: &r.Outcome, result: &r.Result} {
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), to); err != nil {
			return r, fika.Errorf(fika.Storage, "read run", "run %s cannot be read: %v", r.ID, err)
		}
	}
	r.Title, r.Writer = p.Prompt, p.Writer
	return r, nil
}

// dollars converts micro-dollars to the dollars in which workflows count.
func dollars(micro int64) float64 { return float64(micro) / 1e6 }

// Start stores a run that is due: the next process to advance it begins its first
// steps. It fails with Conflict if an older agent has the reserved name.
func (s Flows) Start(ctx context.Context, n NewRun) (Run, error) {
	var out Run
	err := s.write(ctx, opStart, func(ctx context.Context, t *tx) (err error) {
		out, err = flowsIn(t).startRun(ctx, n)
		return err
	})
	return out, err
}

const opStart = "start run"

// flowRows writes the runs of workflows and their steps.
type flowRows struct{ *tx }

func flowsIn(t *tx) flowRows { return flowRows{t} }

// startRun is [Flows.Start] within a transaction.
func (t flowRows) startRun(ctx context.Context, n NewRun) (out Run, err error) {
	if n.ID != "" {
		known, ok, err := one(ctx, t, scanRun, selectRun+` WHERE f.id = ?`, n.ID)
		if err != nil || ok {
			t.discard = true
			return known, err
		}
	}
	if err := t.ensureFlowAgent(ctx, opStart); err != nil {
		return out, err
	}
	id := n.ID
	if id == "" {
		id = fika.RequestID(t.newID())
	}
	title := fika.AgentName(n.Name)
	if title == "" {
		title = "team"
	}
	c, err := conversationsIn(t.tx).newConversation(ctx, conversationsIn(t.tx).generatedName(fika.Workflow, title), fika.Workflow, flowAgent)
	if err != nil {
		return out, err
	}
	if err := t.insertRunRequest(ctx, c.ID, id, "", n); err != nil {
		return out, err
	}
	if err := t.put(ctx, `INSERT INTO flow_runs (id, request, conversation, name, definition, inputs, begun_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		id, id, c.ID, n.Name, string(n.Definition), string(n.Inputs), t.now); err != nil {
		return out, err
	}
	e := fika.Entry{
		Conversation: c.ID, From: n.From, To: flowAgent, Content: n.Title, Type: fika.Message, Request: id, Chain: n.chainOf(id),
		Meta: fika.EntryMeta{Writer: n.by(), WriterName: n.From, Taint: fika.Taint{From: n.Taint}},
	}
	if err := t.append(ctx, &e); err != nil {
		return out, err
	}
	if n.In != nil {
		if err := t.beginInChat(ctx, id, n); err != nil {
			return out, err
		}
	}
	if out, _, err = one(ctx, t, scanRun, selectRun+` WHERE f.id = ?`, id); err == nil {
		t.tellRun(out, string(out.State), EventData{})
	}
	return out, err
}

// ensureFlowAgent creates the row of the reserved agent if it is missing.
func (t flowRows) ensureFlowAgent(ctx context.Context, op string) error {
	id, ok, err := one(ctx, t, scanText, `SELECT id FROM agents WHERE name = ?`, flowAgent)
	switch {
	case err != nil:
		return err
	case ok && id != flowAgent:
		return fika.WithHint(fika.Errorf(fika.Conflict, op, "an agent is named %s, which is the name of all runs now", flowAgent), hint.ContextRename.With(flowAgent, "OTHER"))
	case ok:
		return nil
	}
	return t.put(ctx, `INSERT INTO agents (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, flowAgent, flowAgent, t.now)
}

// insertRunRequest stores the request that stands for a run. It is running from the
// beginning, without an owner, so that nobody claims it.
func (t flowRows) insertRunRequest(ctx context.Context, c fika.ConversationID, id, retryOf fika.RequestID, n NewRun) error {
	payload, err := toJSON("start run", fika.Payload{Prompt: n.Title, From: n.From, Writer: n.by(), Background: true})
	if err != nil {
		return err
	}
	rights, err := rightsJSON("start run", n.Rights)
	if err != nil {
		return err
	}
	chain, depth, parent := n.chainOf(id), 0, fika.RequestID("")
	if n.under != nil {
		depth, parent = n.under.depth+1, n.under.id
	}
	t.tellRequest(fika.Request{ID: id, Kind: fika.WorkflowRequest, Agent: flowAgent, Conversation: c, Parent: parent, Chain: chain, Depth: depth, RetryOf: retryOf, State: fika.Running}, EventData{})
	return t.put(ctx, `INSERT INTO requests (id, kind, origin, agent, conversation, parent, retry_of, chain, depth, asker, upto_seq, state, deadline, payload,
rights, taint, touched, created_at, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 'running', ?, ?, ?, ?, ?, ?, ?)`,
		id, fika.WorkflowRequest, fika.Queued, flowAgent, c, parent, retryOf, chain, depth, n.From, ms(n.Deadline), payload, rights, n.Taint, t.now, t.now, t.now)
}

// Run reads a run by its id, by the id of any request that has stood for it, or by a
// unique prefix of its id. It fails with NotFound, and with Conflict for the prefix
// of several ids.
func (s Flows) Run(ctx context.Context, id fika.RequestID) (Run, error) {
	const op = "read run"
	r, ok, err := one(ctx, s.r, scanRun, selectRun+` WHERE f.id = ? OR f.request = ? OR f.conversation = (SELECT q.conversation FROM requests q WHERE q.id = ? AND q.kind = 'workflow')`, id, id, id)
	if err != nil || ok {
		return r, s.explain(op, err)
	}
	if len(id) >= minPrefix {
		all, err := many(ctx, s.r, scanRun, selectRun+` WHERE f.id >= ? AND f.id < ? LIMIT 2`, id, string(id)+"~")
		switch {
		case err != nil:
			return r, s.explain(op, err)
		case len(all) == 1:
			return all[0], nil
		case len(all) > 1:
			return r, fika.Errorf(fika.Conflict, op, "several runs begin with %q: give more of the id", id)
		}
	}
	return r, fika.WithHint(fika.Errorf(fika.NotFound, op, "run %q not found", id), hint.WorkflowRuns)
}

// Runs lists runs, newest first, without the first skip: all, or, if going is set, those
// that are not over.
func (s Flows) Runs(ctx context.Context, going bool, limit, skip int) ([]Run, error) {
	where := ``
	if going {
		where = ` WHERE f.ended_at = 0`
	}
	all, err := many(ctx, s.r, scanRun, selectRun+where+` ORDER BY f.begun_at DESC, f.id DESC LIMIT ? OFFSET ?`, noLimit(limit), skip)
	return all, s.explain("list runs", err)
}

// Definition reads the frozen definition and inputs of a run, and the definition's
// edition.
func (s Flows) Definition(ctx context.Context, run fika.RequestID) (definition, inputs []byte, edition int64, err error) {
	const op = "read run"
	type frozen struct {
		definition, inputs string
		edition            int64
	}
	f, ok, err := one(ctx, s.r, func(sc scanner) (f frozen, err error) { return f, sc.Scan(&f.definition, &f.inputs, &f.edition) },
		`SELECT definition, inputs, edition FROM flow_runs WHERE id = ?`, run)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "run %q not found", run)
	}
	return []byte(f.definition), []byte(f.inputs), f.edition, s.explain(op, err)
}

const rowColumns = `s.id, s.path, s.parent, s.step, s.kind, s.position, s.attempt, s.attempts_before, s.state, s.reason, s.error,
s.not_before, s.deadline, s.ended_at, s.approved, s.redo, s.live, s.taken, s.source, s.winner, s.inputs, s.items, s.made, s.done, s.failed, s.first_failed`

func scanFlowRow(s scanner) (workflow.Row, error) { return flowRow(s) }

// flowRow scans a step of a run, and the columns after it into more.
func flowRow(s scanner, more ...any) (workflow.Row, error) {
	var r workflow.Row
	var notBefore, deadline, ended int64
	var inputs string
	dest := []any{&r.ID, &r.Path, &r.Parent, &r.Step, &r.Kind, &r.Index, &r.Attempt, &r.Before, &r.State, &r.Reason, &r.Error,
		&notBefore, &deadline, &ended, flag{&r.Approved}, flag{&r.Redo}, flag{&r.Live}, flag{&r.Taken}, &r.From, &r.First, &inputs,
		&r.Count, &r.Made, &r.Done, &r.Failed, &r.FirstFailed}
	err := s.Scan(append(dest, more...)...)
	r.NotBefore, r.Deadline, r.Ended = at(notBefore), at(deadline), at(ended)
	if inputs != "" {
		r.Inputs = json.RawMessage(inputs)
	}
	return r, err
}

// spending sums what the live steps of a run have used and the run has not counted
// yet.
const spending = `SELECT COALESCE(sum(ch.turns), 0), COALESCE(sum(ch.tokens), 0), COALESCE(sum(ch.cost), 0)
FROM flow_steps s JOIN chains ch ON ch.root = s.chain WHERE s.run = ? AND s.live = 1 AND s.counted = 0 AND s.chain <> ''`

func scanSpent(s scanner) (u workflow.Spent, err error) {
	var cost int64
	err = s.Scan(&u.Turns, &u.Tokens, &cost)
	u.Cost = dollars(cost)
	return u, err
}

// View reads a run with its live rows, whose number does not grow with the finished
// steps. It fails with NotFound.
func (s Flows) View(ctx context.Context, run fika.RequestID) (RunView, error) {
	const op = "read run"
	var v RunView
	err := s.e.snapshot(ctx, func(r querier) error {
		v = RunView{Now: at(s.nowMS())}
		ok := false
		var more, below workflow.Spent
		err := r.run(ctx, first(&v.Run, &ok, scanRun, selectRun+` WHERE f.id = ?`, run),
			all(&v.Rows, scanFlowRow, `SELECT `+rowColumns+` FROM flow_steps s WHERE s.run = ? AND s.live = 1`, run),
			first(&more, nil, scanSpent, spending, run), first(&below, nil, scanSpent, spentBelow, run))
		if err == nil && !ok {
			err = fika.Errorf(fika.NotFound, op, "run %q not found", run)
		}
		v.Spent = v.Run.Spent
		v.Spent.Cost += more.Cost + below.Cost
		v.Spent.Tokens += more.Tokens + below.Tokens
		v.Spent.Turns += more.Turns + below.Turns
		v.Spent.Time = v.Now.Sub(v.Begun)
		return err
	})
	return v, s.explain(op, err)
}

// Due lists runs that somebody has to advance; it finds them after any crash. If run
// is not empty, Due looks at that run only.
func (s Flows) Due(ctx context.Context, run fika.RequestID, limit int) ([]fika.RequestID, error) {
	text, args := dueRuns, []any{s.nowMS(), s.nowMS() + workflow.MaxWake.Milliseconds()}
	switch {
	case run != "":
		text += ` AND f.id = ?`
		args = append(args, run)
	case crash.Without(crash.Due):
		return nil, nil
	}
	ids, err := many(ctx, s.r, func(sc scanner) (id fika.RequestID, err error) { err = sc.Scan(&id); return id, err }, text+` ORDER BY f.id LIMIT ?`, append(args, noLimit(limit))...)
	return ids, s.explain("look for runs", err)
}

const (
	// untaken repeats the condition of the index flow_steps_untaken word for word: an
	// end that no plan has seen yet.
	untaken = `live = 1 AND taken = 0 AND state IN ('done', 'failed', 'cancelled', 'skipped', 'blocked')`
	// dueRuns takes the present time, and the latest time at which a run may ask to
	// be looked at: a later one was set before the clock was put back.
	dueRuns = `SELECT f.id FROM flow_runs f WHERE f.ended_at = 0 AND (f.paused_at = 0 OR f.stop <> '')
AND (f.due = 1 OR (f.wake_at > 0 AND (f.wake_at <= ? OR f.wake_at > ?)) OR EXISTS (SELECT 1 FROM flow_steps s WHERE s.run = f.id AND s.` + untaken + `))`
)

// RunSteps reads the rows of a run as people see them, in the order in which they
// were created: all of them or, if since is not zero, the live ones and those that
// have ended since.
func (s Flows) RunSteps(ctx context.Context, run fika.RequestID, since time.Time) ([]RunStep, error) {
	only, args := ``, []any{run}
	if !since.IsZero() {
		only, args = ` AND (s.live = 1 OR s.ended_at >= ?)`, append(args, ms(since))
	}
	list, err := many(ctx, s.r, scanRunStep, `SELECT `+rowColumns+`, s.begun_at, s.request, COALESCE(c.name, ''), s.agent, COALESCE(w.name, ''), COALESCE(ch.turns, CASE WHEN q.started_at > 0 THEN 1 ELSE 0 END),
COALESCE(ch.tokens, (SELECT sum(u.input + u.output) FROM usage u WHERE u.request = s.request), 0), COALESCE(ch.cost, (SELECT sum(u.cost) FROM usage u WHERE u.request = s.request), 0),
COALESCE((SELECT p.n FROM approvals p WHERE p.flow_step = s.id AND p.flow_step <> '' AND p.state = 'open' LIMIT 1), 0)
FROM flow_steps s LEFT JOIN conversations c ON c.id = s.conversation LEFT JOIN chains ch ON ch.root = s.chain
LEFT JOIN requests q ON q.id = s.request LEFT JOIN agents w ON w.id = q.agent AND w.name <> s.agent AND s.agent <> ''
WHERE s.run = ?`+only+` ORDER BY s.begun_at, s.path, s.attempt`, args...)
	return list, s.explain("read steps of run", err)
}

func scanRunStep(sc scanner) (st RunStep, err error) {
	var begun, cost int64
	st.Row, err = flowRow(sc, &begun, &st.Request, &st.Conversation, &st.Agent, &st.Worker, &st.Usage.Turns, &st.Usage.Tokens, &cost, &st.Approval)
	st.Begun, st.Usage.Cost = at(begun), dollars(cost)
	return st, err
}

// Workers returns the agents that work steps for which another agent was asked, by
// row.
func (s Flows) Workers(ctx context.Context, run fika.RequestID) (map[string]fika.AgentName, error) {
	const op = "read workers of run"
	type worker struct {
		row  string
		name fika.AgentName
	}
	scan := func(sc scanner) (w worker, err error) { return w, sc.Scan(&w.row, &w.name) }
	list, err := many(ctx, s.r, scan, `SELECT s.id, w.name FROM flow_steps s JOIN requests q ON q.id = s.request JOIN agents w ON w.id = q.agent
WHERE s.run = ? AND s.agent <> '' AND w.name <> s.agent`, run)
	out := map[string]fika.AgentName{}
	for _, w := range list {
		out[w.row] = w.name
	}
	return out, s.explain(op, err)
}

// Output reads the output of a step by its row. It fails with NotFound if there is
// none.
func (s Flows) Output(ctx context.Context, row string) (workflow.Output, error) {
	const op = "read output"
	o, ok, err := one(ctx, s.r, scanOutput, selectOutput+` WHERE s.id = ?`, row)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "the step %s has no output", row)
	}
	return o, s.explain(op, err)
}

// Named reads an output of some step of a run by its hash. It fails with NotFound.
func (s Flows) Named(ctx context.Context, run fika.RequestID, hash string) (workflow.Output, error) {
	const op = "read output"
	o, ok, err := one(ctx, s.r, scanOutput, `SELECT json, content FROM flow_outputs WHERE run = ? AND hash = ?`, run, hash)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "no step of run %s has given %s", run, hash)
	}
	return o, s.explain(op, err)
}

const selectOutput = `SELECT o.json, o.content FROM flow_steps s JOIN flow_outputs o ON o.run = s.run AND o.hash = s.output`

func scanOutput(sc scanner) (o workflow.Output, err error) {
	err = sc.Scan(flag{&o.JSON}, &o.Text)
	return o, err
}

// Items reads the outputs of the items of a row of kind each, by index; items without
// an output are empty, and those that have ended otherwise say why. It fails with [workflow.ErrTooMuch] if the outputs exceed most
// characters in all.
func (s Flows) Items(ctx context.Context, row string, most int) ([]workflow.Output, error) {
	const op = "read outputs"
	type item struct {
		workflow.Output
		at int
	}
	n, _, err := one(ctx, s.r, scanInt, `SELECT items FROM flow_steps WHERE id = ?`, row)
	if err != nil {
		return nil, s.explain(op, err)
	}
	size, _, err := one(ctx, s.r, scanInt, `SELECT COALESCE(sum(length(o.content)), 0) FROM flow_steps i JOIN flow_steps s ON s.id = i.source
JOIN flow_outputs o ON o.run = s.run AND o.hash = s.output WHERE i.parent = ? AND i.parent <> '' AND i.state = 'done'`, row)
	if err != nil {
		return nil, s.explain(op, err)
	}
	if size > int64(most) {
		return nil, workflow.ErrTooMuch
	}
	list, err := many(ctx, s.r, func(sc scanner) (i item, err error) {
		err = sc.Scan(flag{&i.JSON}, &i.Text, &i.at)
		return i, err
	}, `SELECT o.json, o.content, i.position FROM flow_steps i JOIN flow_steps s ON s.id = i.source
JOIN flow_outputs o ON o.run = s.run AND o.hash = s.output WHERE i.parent = ? AND i.parent <> '' AND i.state = 'done' ORDER BY i.position`, row)
	if err != nil {
		return nil, s.explain(op, err)
	}
	// Of several attempts at an item, the last one says why it is not done.
	ended, err := many(ctx, s.r, scanFlowRow, `SELECT `+rowColumns+` FROM flow_steps s WHERE s.parent = ? AND s.parent <> ''
AND s.state IN ('failed', 'cancelled', 'skipped', 'blocked') ORDER BY s.position, s.attempt`, row)
	out := make([]workflow.Output, n)
	for _, r := range ended {
		if r.Index < len(out) {
			out[r.Index] = workflow.Output{Error: r.Why()}
		}
	}
	for _, i := range list {
		if i.at < len(out) {
			out[i.at] = i.Output
		}
	}
	return out, s.explain(op, err)
}
