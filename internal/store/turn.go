package store

import (
	"context"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/system/crash"
	"fika/internal/text/hint"
)

// turn is what the fenced writes need to know about their request.
type turn struct {
	id        fika.RequestID
	kind      fika.RequestKind
	origin    fika.Origin
	agent     fika.AgentID
	agentName fika.AgentName
	conv      fika.Conversation // without times
	parent    fika.RequestID
	chain     fika.RequestID
	depth     int
	asker     string
	uptoSeq   int64
	state     fika.RequestState
	reason    string
	cancelAt  int64
	deadline  int64
	attempts  int
	epoch     fika.Epoch
	lease     LeaseID
	allPaused bool         // all conversations are paused
	reserved  bool         // an amount is set aside for its next call
	runHold   string       // what holds the run that it is part of: paused, or why the run is to end
	modes     [4]fika.Mode // that bound it: of its conversation, of where its chain began, and of the chats in which the runs that these are part of began
	inputs    bool         // a person's text waits for it; on a server as it was before the locks
	steps     int64        // number of steps so far
	found     *finishing   // what is needed to end it
}

const selectTurn = `SELECT r.id, r.kind, r.origin, r.agent, a.name, r.parent, r.chain, r.depth, r.asker, r.upto_seq, r.state,
r.reason, r.cancel_at, r.deadline, r.attempts, r.owner_epoch, r.owner_lease, c.id, c.name, c.kind, c.agent, c.paused, c.last_seq, c.limits, c.run, c.mode, ` + modesElsewhere + `, ` + runHold + `, ` + pausedAll + `,
EXISTS (SELECT 1 FROM reservations v WHERE v.request = r.id),
EXISTS (SELECT 1 FROM inputs i WHERE i.conversation = r.conversation AND i.agent = r.agent AND i.state = 'queued'), (SELECT COALESCE(max(st.n), 0) FROM steps st WHERE st.request = r.id)
FROM requests r JOIN conversations c ON c.id = r.conversation JOIN agents a ON a.id = r.agent`

func scanTurn(s scanner) (turn, error) {
	var r turn
	c := &r.conv
	err := s.Scan(&r.id, &r.kind, &r.origin, &r.agent, &r.agentName, &r.parent, &r.chain, &r.depth, &r.asker, &r.uptoSeq, &r.state,
		&r.reason, &r.cancelAt, &r.deadline, &r.attempts, &r.epoch, &r.lease, &c.ID, &c.Name, &c.Kind, &c.Agent, flag{&c.Paused}, &c.LastSeq,
		chainLimits{&c.Limits}, &c.Run, &r.modes[0], &r.modes[1], &r.modes[2], &r.modes[3], &r.runHold, flag{&r.allPaused}, flag{&r.reserved}, flag{&r.inputs}, &r.steps)
	return r, err
}

// lockTurn locks and reads a request and its conversation. It fails with NotFound.
func (t *tx) lockTurn(ctx context.Context, id fika.RequestID) (turn, error) {
	var r turn
	var held string
	ok := false
	err := t.run(ctx, first(&held, nil, scanText, `SELECT r.id FROM requests r WHERE r.id = ?`+lockRequest, id),
		first(&r, &ok, t.scanLockedTurn, selectTurn+` WHERE r.id = ?`+lockConversation, id))
	if err == nil && !ok {
		err = fika.WithHint(fika.Errorf(fika.NotFound, "request", "request %q not found", id), hint.RequestList.With())
	}
	return r, err
}

// progress says what a fenced write does to the current step.
type progress int

const (
	stepStays progress = iota
	stepEnds
	turnEnds // ending the turn records the time itself
)

// question is something that a fenced write needs to know about its request.
type question struct {
	ask func() statement
	// of reports whether to ask about a given turn; nil: always. A server, which is
	// far away, is asked everything at once regardless.
	of func(turn) bool
}

// withinLease is the only way to write for a running request: a transaction that
// begins by locking the request's row, as only the owner of a running request can,
// and the row of its conversation. It fails with Lost for anybody else, and nothing
// is written. more is asked in the same round trip on a server, and before fn
// otherwise.
func (s *db) withinLease(ctx context.Context, op string, f Fence, p progress, fn func(context.Context, *tx, turn) error, more ...question) error {
	return s.fenced(ctx, op, durable, f, p, fn, more...)
}

func (s *db) fenced(ctx context.Context, op string, d durability, f Fence, p progress, fn func(context.Context, *tx, turn) error, more ...question) error {
	return s.writeWith(ctx, op, d, func(ctx context.Context, t *tx) error {
		var r turn
		found := false
		var locks []statement
		if t.c.distant() {
			var mine string
			locks = append(locks, first(&mine, nil, scanText, holdFence, f.Request, f.Agent, f.Epoch, f.Lease))
		}
		locks = append(locks, first(&r, &found, t.scanLockedTurn, selectTurn+` WHERE r.id = ?`+lockConversation, f.Request))
		if t.c.distant() {
			for _, q := range more {
				locks = append(locks, q.ask())
			}
		}
		err := t.begin(ctx, locks...)
		switch {
		case err != nil:
			return err
		case !(found && r.agent == f.Agent && r.epoch == f.Epoch && r.lease == f.Lease && r.state == fika.Running) && !crash.Without(crash.Fence):
			return lostFence(op, f)
		case !found:
			return fika.WithHint(fika.Errorf(fika.NotFound, "request", "request %q not found", f.Request), hint.RequestList.With())
		}
		if err := t.touch(ctx, &r, p); err != nil {
			return err
		}
		for _, q := range more {
			if t.c.distant() || q.of != nil && !q.of(r) {
				continue
			}
			if err := t.run(ctx, q.ask()); err != nil {
				return err
			}
		}
		return fn(ctx, t, r)
	})
}

// touch records that a request was written for.
func (t *tx) touch(ctx context.Context, r *turn, p progress) error {
	switch p {
	case turnEnds:
		return nil
	case stepEnds:
		r.attempts = 0
		return t.put(ctx, `UPDATE requests SET touched = ?, attempts = 0 WHERE id = ?`, t.now, r.id)
	}
	return t.put(ctx, `UPDATE requests SET touched = ? WHERE id = ?`, t.now, r.id)
}

const (
	// fencedTurn selects a running request of its owner.
	fencedTurn = ` WHERE r.id = ? AND r.agent = ? AND r.owner_epoch = ? AND r.owner_lease = ? AND r.state = 'running'`
	// holdFence locks that request.
	holdFence = `SELECT r.id FROM requests r` + fencedTurn + lockRequest
)

// scanLockedTurn scans a turn whose conversation the statement locks.
func (t *tx) scanLockedTurn(s scanner) (turn, error) {
	r, err := scanTurn(s)
	if err == nil {
		t.lastSeq[r.conv.ID], t.workers[r.id] = r.conv.LastSeq, r.agent
	}
	return r, err
}

func lostFence(op string, f Fence) error {
	return fika.Errorf(fika.Lost, op, "request %s is not running for this owner (epoch %d) any more", f.Request, f.Epoch)
}

// signal returns what the row of a turn asks of its owner.
func (r turn) signal(now int64) Signal {
	sig := Signal{
		Cancel: r.cancelAt > 0, Deadline: r.deadline > 0 && r.deadline <= now,
		Paused: (r.conv.Paused || r.allPaused || r.runHold == holdPaused) && r.origin != fika.Foreground, // a person at a terminal is not held
	}
	if sig.Cancel {
		sig.Reason = r.reason
	} else if r.runHold != "" && r.runHold != holdPaused {
		sig.Cancel, sig.Reason = true, "the run it is part of has come to its end"
	}
	return sig
}

// Signal reads cancel, pause, deadline, inputs and mode and writes nothing. It fails with Lost if
// the fence no longer holds.
func (s Turns) Signal(ctx context.Context, f Fence) (Signal, error) {
	const op = "read signal"
	r, ok, err := one(ctx, s.r, scanTurn, selectTurn+fencedTurn,
		f.Request, f.Agent, f.Epoch, f.Lease)
	if err != nil {
		return Signal{}, s.explain(op, err)
	}
	if !ok {
		return Signal{}, lostFence(op, f)
	}
	sig := r.signal(s.nowMS())
	sig.Inputs, sig.Mode = r.inputs, r.mode()
	return sig, nil
}

// Steps reads the steps of the request so far, sorted by N.
func (s Turns) Steps(ctx context.Context, id fika.RequestID) ([]fika.Step, error) {
	all, err := many(ctx, s.r, scanStep, `SELECT `+stepColumns+` FROM steps s WHERE s.request = ? ORDER BY s.n`, id)
	return all, s.explain("read steps", err)
}

// Blobs reads the blobs of the model steps of the requests that wrote the entries,
// keyed by the entry that each step produced. It leaves out steps without a blob.
func (s Turns) Blobs(ctx context.Context, entries []fika.Entry) (map[fika.EntryID]json.RawMessage, error) {
	var ids []fika.RequestID
	for _, e := range entries { // those of one turn are consecutive
		if len(ids) == 0 || ids[len(ids)-1] != e.Request {
			ids = append(ids, e.Request)
		}
	}
	type found struct {
		entry fika.EntryID
		blob  string
	}
	out := map[fika.EntryID]json.RawMessage{}
	for part := range slices.Chunk(ids, 500) { // engines bound the number of parameters
		// Pad to a power of two by repeating the last id, so that few statements are
		// prepared.
		args := make([]any, 1<<bits.Len(uint(len(part)-1)))
		for i := range args {
			args[i] = part[min(i, len(part)-1)]
		}
		list, err := many(ctx, s.r, func(row scanner) (f found, err error) { return f, row.Scan(&f.entry, &f.blob) },
			`SELECT entry, blob FROM steps WHERE request IN (?`+strings.Repeat(", ?", len(args)-1)+`) AND kind = 'model' AND blob <> '' AND entry <> ''`, args...)
		if err != nil {
			return nil, s.explain("read blobs", err)
		}
		for _, f := range list {
			out[f.entry] = json.RawMessage(f.blob)
		}
	}
	return out, nil
}

// insertStep stores a step as the next one of the request.
func (t *tx) insertStep(ctx context.Context, r *turn, st *fika.Step) error {
	r.steps++
	st.N = int(r.steps)
	return t.put(ctx, `INSERT INTO steps (request, n, round, kind, call_id, tool, args_hash, effect, state, entry, call_entry,
blob, started_at, finished_at, model, choice) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		st.Request, st.N, st.Round, st.Kind, st.CallID, st.Tool, st.ArgsHash, st.Effect, st.State, st.Entry, st.CallEntry,
		string(st.Blob), ms(st.StartedAt), ms(st.FinishedAt), st.Model, st.Choice)
}

// entryOf returns an entry written by a turn, not yet stored.
func (r turn) entryOf(typ fika.EntryType, from, to, content string) fika.Entry {
	return fika.Entry{
		Conversation: r.conv.ID, From: from, To: to, Content: content, Type: typ,
		Request: r.id, Chain: r.chain, Depth: r.depth + 1,
		Meta: fika.EntryMeta{Writer: fika.ByAgent, WriterName: string(r.agentName)},
	}
}

// addressee returns the usual recipient of an agent's words in this turn.
func (r turn) addressee() string {
	switch {
	case r.conv.Kind == fika.Chat:
		return string(r.conv.Name)
	case r.asker != "":
		return r.asker
	}
	return "user"
}

// CommitModel stores a model call that asked for tools, in one transaction: the
// assistant entry (if it has text or reasoning), one tool_call entry and one planned
// step per call, and the usage. The model step's Entry is the first of the entries.
// CommitModel fails with Conflict if the round is stored already. [Turns.Finish] does
// the same for a final text.
func (s Turns) CommitModel(ctx context.Context, f Fence, m ModelCommit) (Planned, error) {
	const op = "commit model step"
	var out Planned
	var known []int64
	ask := func() statement {
		known = nil
		return all(&known, scanInt, `SELECT n FROM steps WHERE request = ? AND kind = 'model' AND round = ?`, f.Request, m.Round)
	}
	err := s.withinLease(ctx, op, f, stepEnds, func(ctx context.Context, t *tx, r turn) (err error) {
		out = Planned{}
		if len(known) > 0 {
			return fika.Errorf(fika.Conflict, op, "round %d of request %s is stored already", m.Round, r.id)
		}
		var said fika.Entry
		if m.Text != "" || m.Reasoning != "" {
			said = r.said(m, r.addressee())
			if err := t.append(ctx, &said); err != nil {
				return err
			}
			t.told(said).data.Round = m.Round
			out.Entries = append(out.Entries, said)
		} else {
			said.ID = fika.EntryID(t.newID()) // of the first call, whose entry stands for the step
		}
		if err := t.modelStep(ctx, &r, m, said.ID); err != nil {
			return err
		}
		t.tellStep(r, int(r.steps), fika.StepDone, modelData(fika.ModelStep, m.Round, m.Model, m.Usage, t.now-ms(m.StartedAt)))
		for _, call := range m.Calls {
			first := fika.Entry{}
			if len(out.Entries) == 0 {
				first = r.said(m, "")
				first.ID = said.ID
			}
			e, st, err := t.plan(ctx, &r, m.Round, call, m.Taint, first)
			if err != nil {
				return err
			}
			out.Entries, out.Steps = append(out.Entries, e), append(out.Steps, st)
		}
		out.Booked, err = accountsIn(t).book(ctx, r)
		return err
	}, question{ask: ask})
	return out, err
}

// said returns the message entry of a model call.
func (r turn) said(m ModelCommit, to string) fika.Entry {
	e := r.entryOf(fika.Message, string(r.agentName), to, m.Text)
	e.Meta.Reasoning, e.Meta.Taint = m.Reasoning, m.Taint
	if m.Usage != (fika.Usage{}) {
		u := m.Usage
		e.Meta.Usage = &u
	}
	return e
}

// modelStep stores the finished step of a model call and its usage.
func (t *tx) modelStep(ctx context.Context, r *turn, m ModelCommit, entry fika.EntryID) error {
	st := fika.Step{
		Request: r.id, Round: m.Round, Kind: fika.ModelStep, State: fika.StepDone, Entry: entry, Blob: m.Blob,
		Model: m.Model, Choice: m.Choice, StartedAt: m.StartedAt, FinishedAt: at(t.now),
	}
	if err := t.insertStep(ctx, r, &st); err != nil {
		return err
	}
	if err := rightsIn(t).taint(ctx, *r, m.Taint); err != nil {
		return err
	}
	if err := rightsIn(t).passes(ctx, *r, m.Passes); err != nil {
		return err
	}
	return chainsIn(t).spend(ctx, *r, st.N, m.Model, m.Usage)
}

// plan stores one tool call that the model asked for. The first entry of a model step
// without text takes its id and usage from first.
func (t *tx) plan(ctx context.Context, r *turn, round int, call PlannedCall, taint fika.Taint, first fika.Entry) (fika.Entry, fika.Step, error) {
	e := r.entryOf(fika.ToolCall, string(r.agentName), call.Tool, call.Args)
	e.ID, e.Meta.Usage = first.ID, first.Meta.Usage
	e.Meta.ToolCallID, e.Meta.Taint, e.Meta.Origin = call.CallID, taint, call.Origin
	if err := t.append(ctx, &e); err != nil {
		return e, fika.Step{}, err
	}
	effect := call.Effect
	if effect == "" {
		effect = fika.Unsafe
	}
	st := fika.Step{
		Request: r.id, Round: round, Kind: fika.ToolStep, CallID: call.CallID, Tool: call.Tool, ArgsHash: call.ArgsHash,
		Effect: effect, State: fika.StepPlanned, CallEntry: e.ID,
	}
	err := t.insertStep(ctx, r, &st)
	d := EventData{Kind: string(fika.ToolStep), Round: round, Tool: call.Tool, CallID: CallID(r.id, st.N)}
	t.tellStep(*r, st.N, st.State, d)
	about := t.told(e)
	about.data.Round, about.data.CallID, about.data.Tool = round, d.CallID, d.Tool
	return e, st, err
}

// modelData is what the event of a model call says.
func modelData(kind fika.StepKind, round int, model string, u fika.Usage, took int64) EventData {
	d := EventData{Kind: string(kind), Round: round, Model: model, MS: took}
	if u != (fika.Usage{}) {
		d.Usage = &u
	}
	return d
}

// CommitCompaction stores a compaction entry and its step within a turn.
func (s Turns) CommitCompaction(ctx context.Context, f Fence, round int, content string, m fika.EntryMeta, u fika.Usage, model string) (fika.Entry, error) {
	var e fika.Entry
	err := s.withinLease(ctx, "commit compaction", f, stepEnds, func(ctx context.Context, t *tx, r turn) error {
		e = r.entryOf(fika.Compaction, string(r.agentName), string(r.agentName), content)
		e.Meta = m
		if err := t.append(ctx, &e); err != nil {
			return err
		}
		st := fika.Step{
			Request: r.id, Round: round, Kind: fika.CompactionStep, State: fika.StepDone, Entry: e.ID, Model: model, FinishedAt: at(t.now),
		}
		if err := t.insertStep(ctx, &r, &st); err != nil {
			return err
		}
		t.tellStep(r, st.N, st.State, modelData(st.Kind, round, model, u, 0))
		if err := chainsIn(t).spend(ctx, r, st.N, model, u); err != nil {
			return err
		}
		_, err := accountsIn(t).book(ctx, r)
		return err
	})
	return e, err
}

// Spend stores a model call that came to nothing: it failed, or it was cancelled. Its usage,
// as far as the provider has reported it, counts like that of any other.
func (s Turns) Spend(ctx context.Context, f Fence, m Spent) ([]limit.Booked, error) {
	var booked []limit.Booked
	err := s.withinLease(ctx, "commit failed model call", f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		st := fika.Step{
			Request: r.id, Round: m.Round, Kind: m.Kind, State: fika.StepInterrupted, Model: m.Model, Choice: m.Why,
			StartedAt: m.StartedAt, FinishedAt: at(t.now),
		}
		if err := t.insertStep(ctx, &r, &st); err != nil {
			return err
		}
		if err := chainsIn(t).spend(ctx, r, st.N, m.Model, m.Usage); err != nil {
			return err
		}
		if m.Notice != "" {
			n := limitsIn(t).notice(r.conv, m.Notice, string(fika.WaitProvider))
			n.Request, n.Chain, n.Depth = r.id, r.chain, r.depth+1
			if err := t.append(ctx, &n); err != nil {
				return err
			}
		}
		var err error
		booked, err = accountsIn(t).book(ctx, r)
		return err
	})
	return booked, err
}

// Suspend makes the request waiting. It can be claimed again once the reason is over
// or the time until has passed.
func (s Turns) Suspend(ctx context.Context, f Fence, reason fika.WaitReason, until time.Time) error {
	return s.withinLease(ctx, "suspend request", f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		return childrenIn(t).suspend(ctx, r, reason, ms(until))
	})
}

// HandBack makes the request open again and gives its attempt back.
func (s Turns) HandBack(ctx context.Context, f Fence) error {
	return s.withinLease(ctx, "hand back request", f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		if err := accountsIn(t).release(ctx, r); err != nil {
			return err
		}
		t.tellTurn(r, fika.Open, EventData{})
		_, err := t.exec(ctx, `UPDATE requests SET state = 'open', reason = '',
attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END WHERE id = ?`, r.id)
		return err
	})
}
