package store

import (
	"context"

	"fika"
	"fika/internal/system/crash"
)

// step reads one tool step of a turn. It fails with NotFound.
func (t *tx) step(ctx context.Context, op string, r turn, n int) (fika.Step, error) {
	var st stepRow
	if err := t.run(ctx, st.asking(r.id, n)()); err != nil {
		return st.Step, err
	}
	return st.Step, st.check(op, r.id, n)
}

// stepRow is a tool step, if it exists.
type stepRow struct {
	fika.Step
	known bool
}

func (st *stepRow) asking(id fika.RequestID, n int) func() statement {
	return func() statement {
		*st = stepRow{}
		return first(&st.Step, &st.known, scanStep, `SELECT `+stepColumns+` FROM steps s WHERE s.request = ? AND s.n = ?`, id, n)
	}
}

func (st *stepRow) check(op string, id fika.RequestID, n int) error {
	if !st.known || st.Kind != fika.ToolStep {
		return fika.Errorf(fika.NotFound, op, "request %s has no tool step %d", id, n)
	}
	return nil
}

// BeginTool marks a planned step (or a started one that may be repeated) as started,
// before anything runs, and reads the signal in the same transaction, which also says if
// the mode is no longer the one that the call was judged under. If the signal
// is not empty, the step stays as it was. BeginTool fails with Conflict if the step
// must not begin again.
func (s Turns) BeginTool(ctx context.Context, f Fence, n int, preHash string, under fika.Mode) (Signal, error) {
	const op = "begin tool step"
	var sig Signal
	if crash.Without(crash.Before) {
		return sig, nil
	}
	var st stepRow
	err := s.withinLease(ctx, op, f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		if sig = r.signalUnder(t.now, under); sig != (Signal{}) {
			t.discard = true
			return nil
		}
		if err := st.check(op, r.id, n); err != nil {
			return err
		}
		if st.State != fika.StepPlanned && (st.State != fika.StepStarted || st.Effect == fika.Unsafe) {
			return fika.Errorf(fika.Conflict, op, "step %s/%d (%s, %s) is %s and not begun again", r.id, n, st.Tool, st.Effect, st.State)
		}
		return t.startStep(ctx, r, st.Step, preHash)
	}, question{ask: st.asking(f.Request, n)})
	return sig, err
}

// startStep marks a tool step as started.
func (t *tx) startStep(ctx context.Context, r turn, st fika.Step, preHash string) error {
	t.tellStep(r, st.N, fika.StepStarted, toolData(st))
	return t.put(ctx, `UPDATE steps SET state = 'started', pre_hash = ?, pid = 0, pid_start = 0, boot_id = '', started_at = ?
WHERE request = ? AND n = ?`, preHash, t.now, r.id, st.N)
}

// toolData is what the events of a tool step say.
func toolData(st fika.Step) EventData {
	return EventData{Kind: string(st.Kind), Round: st.Round, Tool: st.Tool, CallID: CallID(st.Request, st.N)}
}

// RecordProcess stores the process that a started step runs in.
func (s Turns) RecordProcess(ctx context.Context, f Fence, n int, p fika.Process) error {
	const op = "record process"
	return s.fenced(ctx, op, relaxed, f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		hit, err := t.exec(ctx, `UPDATE steps SET pid = ?, pid_start = ?, boot_id = ? WHERE request = ? AND n = ? AND state = 'started'`,
			p.PID, p.Start, p.BootID, r.id, n)
		if err == nil && hit == 0 {
			err = fika.Errorf(fika.Conflict, op, "step %s/%d is not started", r.id, n)
		}
		return err
	})
}

// CommitTool stores the tool_result entry and ends the step. It fails with Conflict
// if the step already has its result.
func (s Turns) CommitTool(ctx context.Context, f Fence, n int, c ToolCommit) (fika.Entry, error) {
	const op = "commit tool step"
	var e fika.Entry
	var st stepRow
	err := s.withinLease(ctx, op, f, stepEnds, func(ctx context.Context, t *tx, r turn) error {
		err := st.check(op, r.id, n)
		if err != nil {
			return err
		}
		if st.State != fika.StepPlanned && st.State != fika.StepStarted {
			return fika.Errorf(fika.Conflict, op, "step %s/%d has its result already", r.id, n)
		}
		e, err = t.result(ctx, r, st.Step, c)
		return err
	}, question{ask: st.asking(f.Request, n)})
	return e, err
}

// result appends the tool_result of a step and ends the step.
func (t *tx) result(ctx context.Context, r turn, st fika.Step, c ToolCommit) (fika.Entry, error) {
	e := r.entryOf(fika.ToolResult, st.Tool, string(r.agentName), c.Text)
	e.ReplyTo = st.CallEntry
	e.Meta = fika.EntryMeta{Writer: fika.ByTool, ToolCallID: st.CallID, IsError: c.IsError, Sandbox: c.Sandbox, Origin: c.Origin, Taint: c.Taint, Attachments: c.Attachments}
	if err := t.append(ctx, &e); err != nil {
		return e, err
	}
	if err := rightsIn(t).taint(ctx, r, c.Taint); err != nil {
		return e, err
	}
	if c.Executed {
		if err := t.put(ctx, `DELETE FROM executions WHERE request = ? AND n = ?`, r.id, st.N); err != nil {
			return e, err
		}
	}
	state := fika.StepDone
	if c.Interrupted {
		state = fika.StepInterrupted
	}
	d, ok := toolData(st), !c.IsError
	if d.OK = &ok; !st.StartedAt.IsZero() {
		d.MS = t.now - ms(st.StartedAt)
	}
	t.tellStep(r, st.N, state, d)
	about := t.told(e)
	about.data.CallID, about.data.Tool, about.data.OK = d.CallID, d.Tool, d.OK
	return e, t.put(ctx, `UPDATE steps SET state = ?, entry = ?, post_hash = ?, finished_at = ? WHERE request = ? AND n = ?`,
		state, e.ID, c.PostHash, t.now, r.id, st.N)
}
