package store

import (
	"context"
	"time"

	"fika"
	"fika/internal/workflow"
)

// lockFlow locks a run and the request that stands for it. It fails with NotFound.
func (t flowRows) lockFlow(ctx context.Context, op string, id fika.RequestID) (Run, error) {
	request, ok, err := one(ctx, t, scanText, `SELECT f.request FROM flow_runs f WHERE f.id = ?`, id)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "run %q not found", id)
	}
	if err != nil {
		return Run{}, err
	}
	if err := t.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.id = ?`+lockRequest, request); err != nil {
		return Run{}, err
	}
	if err := t.lockAll(ctx, `SELECT f.id FROM flow_runs f WHERE f.id = ?`+lockRow, id); err != nil {
		return Run{}, err
	}
	r, _, err := one(ctx, t, scanRun, selectRun+` WHERE f.id = ?`, id)
	if err == nil && string(r.Request) != request {
		err = errAgain // it was resumed in the meantime
	}
	return r, err
}

const (
	holdPaused = "paused"
	// runHold is a column that says what holds the run that conversation c is part
	// of: empty, paused, or why the run is to end.
	runHold = `COALESCE((SELECT CASE WHEN f.stop <> '' THEN f.stop WHEN f.paused_at > 0 THEN '` + holdPaused + `' ELSE '' END FROM flow_runs f WHERE f.id = c.run), '')`
)

// inRun selects the agents that have an unfinished request in a run.
const inRun = `SELECT DISTINCT a.name FROM conversations c JOIN requests r ON r.conversation = c.id JOIN agents a ON a.id = r.agent
WHERE c.run = ? AND c.run <> '' AND r.finished_at = 0 ORDER BY a.name`

func (t flowRows) workersOf(ctx context.Context, run fika.RequestID) ([]fika.AgentName, error) {
	return many(ctx, t, func(sc scanner) (n fika.AgentName, err error) { return n, sc.Scan(&n) }, inRun, run)
}

// PauseRun pauses a run: nothing of it begins or goes on to its next step, however
// much of it waits, because one row says so. A paused run stays as it is. PauseRun
// fails with Conflict if the run is over.
func (s Flows) PauseRun(ctx context.Context, id fika.RequestID) (Run, error) {
	const op = "pause run"
	return s.control(ctx, op, id, func(ctx context.Context, t *tx, r Run) error {
		if !r.Paused.IsZero() {
			return nil
		}
		t.tellRun(r, Paused, EventData{})
		return t.put(ctx, `UPDATE flow_runs SET version = version + 1, paused_at = ? WHERE id = ?`, t.now, r.ID)
	})
}

// ContinueRun lets a paused run go on and returns the agents that have work.
// Deadlines move by the time for which it was paused.
func (s Flows) ContinueRun(ctx context.Context, id fika.RequestID) (Run, []fika.AgentName, error) {
	const op = "continue run"
	var woken []fika.AgentName
	r, err := s.control(ctx, op, id, func(ctx context.Context, t *tx, r Run) (err error) {
		if r.Paused.IsZero() {
			return nil
		}
		woken, err = flowsIn(t).goOn(ctx, r)
		return err
	})
	return r, woken, err
}

// goOn lets a paused run go on, which is locked, and returns the agents that have work.
func (t flowRows) goOn(ctx context.Context, r Run) ([]fika.AgentName, error) {
	for _, column := range []string{"deadline", "not_before"} {
		if err := t.put(ctx, `UPDATE flow_steps SET `+column+` = `+column+` + ? WHERE run = ? AND live = 1 AND `+column+` > 0`, t.now-ms(r.Paused), r.ID); err != nil {
			return nil, err
		}
	}
	t.tellRun(r, string(r.State), EventData{})
	if err := t.put(ctx, `UPDATE flow_runs SET version = version + 1, due = 1, paused_at = 0 WHERE id = ?`, r.ID); err != nil {
		return nil, err
	}
	return t.workersOf(ctx, r.ID)
}

// pauseIn pauses the runs in some conversations that go on, or lets those go on that were
// paused so: one that a person has paused by itself stays paused. It returns the agents that
// have work.
func (t flowRows) pauseIn(ctx context.Context, conversations []string, paused bool) (ring []fika.AgentName, err error) {
	if len(conversations) == 0 {
		return nil, nil
	}
	runs, err := many(ctx, t, func(sc scanner) (id fika.RequestID, err error) { return id, sc.Scan(&id) },
		`SELECT f.id FROM requests q JOIN flow_runs f ON f.id = q.id WHERE q.conversation IN (`+placeholders(len(conversations))+`) AND q.finished_at = 0 ORDER BY f.id`, appendAll(nil, conversations)...)
	if err != nil {
		return nil, err
	}
	for _, id := range runs {
		r, err := t.lockFlow(ctx, "pause conversation", id)
		if err != nil {
			return nil, err
		}
		n := int64(0)
		switch {
		case r.Over():
			continue
		case paused && r.Paused.IsZero():
			t.tellRun(r, Paused, EventData{})
			if err := t.put(ctx, `UPDATE flow_runs SET version = version + 1, paused_at = ? WHERE id = ?`, t.now, r.ID); err != nil {
				return nil, err
			}
			err = t.put(ctx, `INSERT INTO brakes (conversation, owner) VALUES (?, '') ON CONFLICT DO NOTHING`, r.Conversation)
		case !paused && !r.Paused.IsZero():
			n, err = t.exec(ctx, `DELETE FROM brakes WHERE conversation = ? AND owner = ''`, r.Conversation)
		}
		if err == nil && n > 0 {
			var woken []fika.AgentName
			woken, err = t.goOn(ctx, r)
			ring = append(ring, woken...)
		}
		if err != nil {
			return nil, err
		}
	}
	return ring, nil
}

// StopRun makes a run end: nothing of it begins from now on, its running requests are
// told to stop, and the process that advances it settles the rest. StopRun returns
// the agents that are at work. It fails with Conflict if the run is over.
func (s Flows) StopRun(ctx context.Context, id fika.RequestID, reason string) (Run, []fika.AgentName, error) {
	const op = "cancel run"
	var woken []fika.AgentName
	r, err := s.control(ctx, op, id, func(ctx context.Context, t *tx, r Run) (err error) {
		if err := t.cancel(ctx, r.Request, reason); err != nil {
			return err
		}
		woken, err = flowsIn(t).workersOf(ctx, r.ID)
		return err
	})
	return r, woken, err
}

// LimitRun ends a run that has reached one of its limits: limit is its name as in
// [workflow.Limits], and reason says so to people.
func (s Flows) LimitRun(ctx context.Context, v RunView, limit, reason string) error {
	_, err := s.control(ctx, "end run", v.ID, func(ctx context.Context, t *tx, r Run) error {
		return t.stopFlow(ctx, r.Conversation, r.Request, limit, reason)
	})
	return err
}

// stopFlow records in the row of a run that it is to end. The caller has locked the
// run's request.
func (t *tx) stopFlow(ctx context.Context, c fika.ConversationID, request fika.RequestID, why, reason string) error {
	t.tell(event{kind: RunEvent, conversation: c, request: request, agent: flowAgent, state: string(fika.Running), data: EventData{Cancel: true}})
	if err := t.put(ctx, `UPDATE requests SET cancel_at = ?, reason = ? WHERE id = ? AND cancel_at = 0`, t.now, reason, request); err != nil {
		return err
	}
	return t.put(ctx, `UPDATE flow_runs SET version = version + 1, due = 1, stop = ? WHERE request = ? AND ended_at = 0 AND stop = ''`, why, request)
}

// control changes the row of a run that is not over, and returns the run as it stands
// afterwards.
func (s Flows) control(ctx context.Context, op string, id fika.RequestID, change func(context.Context, *tx, Run) error) (Run, error) {
	var out Run
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		r, err := flowsIn(t).lockFlow(ctx, op, id)
		if err != nil {
			return err
		}
		if r.Over() {
			return fika.Errorf(fika.Conflict, op, "run %s is over: it is %s", r.ID, r.State)
		}
		if err := change(ctx, t, r); err != nil {
			return err
		}
		out, _, err = one(ctx, t, scanRun, selectRun+` WHERE f.id = ?`, id)
		return err
	})
	return out, err
}

// Resumable reads the rows that [workflow.ResumeRows] needs of a finished run: the
// live rows of its own steps, and the latest attempt at each item of those of kind
// each.
func (s Flows) Resumable(ctx context.Context, run fika.RequestID) ([]workflow.Row, error) {
	list, err := many(ctx, s.r, scanFlowRow, `SELECT `+rowColumns+` FROM flow_steps s WHERE s.run = ? AND (s.live = 1 AND s.parent = ''
OR EXISTS (SELECT 1 FROM flow_steps g WHERE g.id = s.parent AND g.parent = '' AND g.kind = 'each' AND g.live = 1)
  AND s.attempt = (SELECT max(o.attempt) FROM flow_steps o WHERE o.run = s.run AND o.path = s.path))`, run)
	return list, s.explain("read steps of run", err)
}

// Resumption says how a finished run is to go on.
type Resumption struct {
	Version    int64          // of the run as its rows were read
	Rows       []workflow.Row // from [workflow.ResumeRows]
	Definition []byte         // a replacement; nil: unchanged
	Deadline   time.Time      // zero: none
}

// ResumeRun stores the rows with which a run goes on, and a new request that stands
// for it, because the old one has its outcome, which never changes. It fails with
// Conflict if the run is not over, or was resumed in the meantime.
func (s Flows) ResumeRun(ctx context.Context, id fika.RequestID, n Resumption) (Run, error) {
	const op = "resume run"
	var out Run
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		r, err := flowsIn(t).lockFlow(ctx, op, id)
		switch {
		case err != nil:
			return err
		case !r.Over():
			return fika.Errorf(fika.Conflict, op, "run %s is not over: it is %s", r.ID, r.State)
		case r.Version != n.Version:
			return fika.Errorf(fika.Conflict, op, "run %s has changed meanwhile: try again", r.ID)
		}
		request := fika.RequestID(t.newID())
		g, _, err := one(ctx, t, scanGiven, selectGiven, r.Request)
		if err != nil {
			return err
		}
		if err := flowsIn(t).insertRunRequest(ctx, r.Conversation, request, r.Request, NewRun{
			From: r.From, writer: r.Writer, Title: r.Title, Deadline: n.Deadline, Rights: g.rights, Taint: g.taint,
		}); err != nil {
			return err
		}
		for _, row := range n.Rows {
			if err := flowsIn(t).putFlowRow(ctx, r.ID, row); err != nil {
				return err
			}
		}
		if n.Definition != nil {
			if err := t.put(ctx, `UPDATE flow_runs SET definition = ?, edition = edition + 1 WHERE id = ?`, string(n.Definition), r.ID); err != nil {
				return err
			}
		}
		if err := t.put(ctx, `UPDATE flow_runs SET request = ?, version = version + 1, due = 1, wake_at = 0, paused_at = 0, stop = '', result = '', ended_at = 0 WHERE id = ?`,
			request, r.ID); err != nil {
			return err
		}
		if out, _, err = one(ctx, t, scanRun, selectRun+` WHERE f.id = ?`, id); err == nil {
			t.tellRun(out, string(out.State), EventData{})
		}
		return err
	})
	return out, err
}
