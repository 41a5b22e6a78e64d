package store

import (
	"context"
	"time"

	"fika"
)

// Executions hands tool steps to executors and results back.
//
// A step that goes to an executor is marked started in the transaction that offers
// it, so that it is never mistaken for one that did not begin. From then on its row
// here records its state. An executor claims it under its own lease, and only while
// the request is running for the owner that offered it. The result stays here until
// the owner of the request commits it as the step's result, under the fence of the
// request.
type Executions struct{ *db }

// ExecutionState is the state of a call on its way through an executor.
type ExecutionState string

// The states of an execution. Withdrawn is a call that was withdrawn before any
// executor had claimed it.
const (
	ExecutionOffered   ExecutionState = "offered"
	ExecutionClaimed   ExecutionState = "claimed"
	ExecutionDone      ExecutionState = "done"
	ExecutionWithdrawn ExecutionState = "withdrawn"
)

// Execution is one tool step on its way through an executor.
type Execution struct {
	Request  fika.RequestID
	N        int
	Executor string // the home's id and the name; see [ExecutorID]
	State    ExecutionState
	Epoch    fika.Epoch // of the request when it was offered or taken up again
	Call     string     // the call to run, as JSON
	Result   string     // the result, as JSON; empty until the call ends
	Lease    LeaseID    // of the executor that claimed it
	Attempts int        // number of times it was claimed or taken over
	Canceled bool       // it is no longer wanted
	Proc     fika.Process
	Offered  time.Time
}

// ExecutorID returns the id of a home's executor in the store.
func ExecutorID(home, name string) string { return home + "/" + name }

// ExecutorLease is the right of one process to be an executor.
type ExecutorLease struct {
	Executor string
	Epoch    fika.Epoch
	ID       LeaseID
}

// ExecutorRow is the state of an executor.
type ExecutorRow struct {
	Owner      string // empty: nobody holds it
	LeaseUntil time.Time
	SeenAt     time.Time
	RunsAs     string // the user that tools run as
}

const executionColumns = `x.request, x.n, x.executor, x.state, x.epoch, x.call, x.result, x.lease, x.attempts, x.cancel_at, x.pid, x.pid_start, x.boot_id, x.offered_at`

func executionRow(s scanner, more ...any) (x Execution, err error) {
	var cancel, offered int64
	err = s.Scan(append([]any{&x.Request, &x.N, &x.Executor, &x.State, &x.Epoch, &x.Call, &x.Result, &x.Lease, &x.Attempts, &cancel,
		&x.Proc.PID, &x.Proc.Start, &x.Proc.BootID, &offered}, more...)...)
	x.Canceled, x.Offered = cancel > 0, at(offered)
	return x, err
}

func scanExecution(s scanner) (Execution, error) { return executionRow(s) }

// OfferTool begins a planned step as [Turns.BeginTool] does, but gives it to an
// executor. A step that was offered before stays where it is; only its epoch becomes
// that of the present owner.
func (s Executions) OfferTool(ctx context.Context, f Fence, n int, preHash string, under fika.Mode, executor, call string) (Signal, error) {
	const op = "offer tool step"
	var sig Signal
	var st stepRow
	err := s.withinLease(ctx, op, f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		sig = r.signalUnder(t.now, under)
		if err := st.check(op, r.id, n); err != nil {
			return err
		}
		before, known, err := one(ctx, t, scanExecution, `SELECT `+executionColumns+` FROM executions x WHERE x.request = ? AND x.n = ?`, r.id, n)
		switch {
		case err != nil:
			return err
		case known && before.Epoch == r.epoch:
			t.discard = true
			sig = Signal{}
			return nil
		case known: // even if the turn is to stop: whoever waits for the call handles that
			sig = Signal{}
			return t.put(ctx, `UPDATE executions SET epoch = ? WHERE request = ? AND n = ?`, r.epoch, r.id, n)
		case sig != (Signal{}):
			t.discard = true
			return nil
		case st.State != fika.StepPlanned && (st.State != fika.StepStarted || st.Effect == fika.Unsafe):
			return fika.Errorf(fika.Conflict, op, "step %s/%d (%s, %s) is %s and not begun again", r.id, n, st.Tool, st.Effect, st.State)
		}
		if err := t.startStep(ctx, r, st.Step, preHash); err != nil {
			return err
		}
		return t.put(ctx, `INSERT INTO executions (request, n, executor, epoch, call, offered_at) VALUES (?, ?, ?, ?, ?, ?)`,
			r.id, n, executor, r.epoch, call, t.now)
	}, question{ask: st.asking(f.Request, n)})
	return sig, err
}

// Execution reads the state of a step at its executor. The second result is false if
// the step was not offered to one.
func (s Executions) Execution(ctx context.Context, id fika.RequestID, n int) (Execution, bool, error) {
	x, found, err := one(ctx, s.r, scanExecution, `SELECT `+executionColumns+` FROM executions x WHERE x.request = ? AND x.n = ?`, id, n)
	return x, found, s.explain("read execution", err)
}

// Withdraw records that a call is no longer wanted. If no executor has claimed it,
// none will; if it is running, its executor ends it.
func (s Executions) Withdraw(ctx context.Context, id fika.RequestID, n int) error {
	return s.write(ctx, "withdraw tool step", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `UPDATE executions SET cancel_at = ?, state = CASE WHEN state = 'offered' THEN 'withdrawn' ELSE state END
WHERE request = ? AND n = ? AND cancel_at = 0`, t.now, id, n)
	})
}

// Executor reads the state of an executor; it returns the zero row if it never ran.
func (s Executions) Executor(ctx context.Context, id string) (ExecutorRow, error) {
	row, _, err := one(ctx, s.r, func(sc scanner) (e ExecutorRow, err error) {
		var until, seen int64
		err = sc.Scan(&e.Owner, &until, &seen, &e.RunsAs)
		e.LeaseUntil, e.SeenAt = at(until), at(seen)
		return e, err
	}, `SELECT e.owner, e.lease_until, e.seen_at, e.runs_as FROM executors e WHERE e.id = ?`, id)
	return row, s.explain("read executor", err)
}

// AcquireExecutor makes a process the executor for the duration d. The caller holds
// the lock of the home, so no other process of this home is the executor.
func (s Executions) AcquireExecutor(ctx context.Context, id, owner, runsAs string, d time.Duration) (ExecutorLease, error) {
	l := ExecutorLease{Executor: id}
	err := s.write(ctx, "acquire executor", func(ctx context.Context, t *tx) error {
		l.ID = LeaseID(t.newID())
		if err := t.put(ctx, `INSERT INTO executors (id, epoch) VALUES (?, 0) ON CONFLICT DO NOTHING`, id); err != nil {
			return err
		}
		epoch, _, err := one(ctx, t, scanInt, `SELECT e.epoch FROM executors e WHERE e.id = ?`, id)
		if err != nil {
			return err
		}
		l.Epoch = fika.Epoch(epoch + 1)
		return t.put(ctx, `UPDATE executors SET owner = ?, epoch = ?, lease = ?, lease_until = ?, seen_at = ?, runs_as = ? WHERE id = ?`,
			owner, l.Epoch, l.ID, t.now+d.Milliseconds(), t.now, runsAs, id)
	})
	return l, err
}

// RenewExecutor extends the lease and deletes the calls whose requests have ended. It
// fails with Lost if another process is the executor now.
func (s Executions) RenewExecutor(ctx context.Context, l ExecutorLease, d time.Duration) error {
	const op = "renew executor"
	return s.writeRelaxed(ctx, op, func(ctx context.Context, t *tx) error {
		hit, err := t.exec(ctx, `UPDATE executors SET lease_until = ?, seen_at = ? WHERE id = ? AND epoch = ? AND lease = ?`,
			t.now+d.Milliseconds(), t.now, l.Executor, l.Epoch, l.ID)
		if err := lostUnless(hit, err, op, l.Executor); err != nil {
			return err
		}
		return t.forgetExecutions(ctx, l.Executor)
	})
}

// forgetExecutions deletes calls whose request has ended without using their result.
// A claimed one stays until the process that runs it has been told.
func (t *tx) forgetExecutions(ctx context.Context, executor string) error {
	return t.put(ctx, `DELETE FROM executions WHERE executor = ? AND state IN ('offered', 'done', 'withdrawn')
AND EXISTS (SELECT 1 FROM requests r WHERE r.id = executions.request AND r.finished_at > 0)`, executor)
}

// ReleaseExecutor ends the lease. It does nothing if the lease is already lost.
func (s Executions) ReleaseExecutor(ctx context.Context, l ExecutorLease) error {
	return s.write(ctx, "release executor", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `UPDATE executors SET owner = '', lease = '', lease_until = 0, seen_at = ? WHERE id = ? AND epoch = ? AND lease = ?`,
			t.now, l.Executor, l.Epoch, l.ID)
	})
}

func lostUnless(hit int64, err error, op, what string) error {
	if err == nil && hit == 0 {
		err = fika.Errorf(fika.Lost, op, "%s is another's", what)
	}
	return err
}

// holdsExecutor is the executor's half of the fence.
const holdsExecutor = `EXISTS (SELECT 1 FROM executors e WHERE e.id = ? AND e.epoch = ? AND e.lease = ?)`

// ClaimedStep is a call that an executor is to run, with what the store knows about
// the right to run it.
type ClaimedStep struct {
	Execution
	Step    fika.Step
	Agent   fika.AgentName
	Args    string // arguments of the call, as the model wrote them
	Origin  fika.Origin
	Rights  *fika.Rights // of the request; nil: no bound
	Taint   string
	Mode    fika.Mode // that bounds it
	Chain   fika.RequestID
	Answers []Approval // to the questions about the step
}

const offeredTo = `SELECT ` + executionColumns + ` FROM executions x JOIN requests r ON r.id = x.request
WHERE x.executor = ? AND x.state = 'offered' AND r.state = 'running' AND r.owner_epoch = x.epoch AND r.cancel_at = 0
ORDER BY x.offered_at, x.request, x.n LIMIT 1`

// ClaimStep claims the oldest call on offer and returns nil if there is none. A call
// is on offer only while its request is running for the owner that offered it.
func (s Executions) ClaimStep(ctx context.Context, l ExecutorLease) (*ClaimedStep, error) {
	const op = "claim tool step"
	_, found, err := one(ctx, s.r, scanExecution, offeredTo, l.Executor)
	if err != nil || !found {
		return nil, s.explain(op, err)
	}
	var out *ClaimedStep
	err = s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = nil
		x, found, err := one(ctx, t, scanExecution, offeredTo, l.Executor)
		if err != nil || !found {
			t.discard = true
			return err
		}
		hit, err := t.exec(ctx, `UPDATE executions SET state = 'claimed', lease = ?, attempts = attempts + 1, claimed_at = ?
WHERE request = ? AND n = ? AND state = 'offered' AND cancel_at = 0 AND `+holdsExecutor+`
AND EXISTS (SELECT 1 FROM requests r WHERE r.id = executions.request AND r.state = 'running' AND r.owner_epoch = executions.epoch)`,
			l.ID, t.now, x.Request, x.N, l.Executor, l.Epoch, l.ID)
		if err != nil || hit == 0 {
			return err
		}
		x.State, x.Lease = ExecutionClaimed, l.ID
		x.Attempts++
		out, err = t.claimedStep(ctx, x)
		return err
	})
	return out, err
}

// claimedStep reads what an executor needs to know about a call.
func (t *tx) claimedStep(ctx context.Context, x Execution) (*ClaimedStep, error) {
	c := &ClaimedStep{Execution: x}
	st, _, err := one(ctx, t, scanStep, `SELECT `+stepColumns+` FROM steps s WHERE s.request = ? AND s.n = ?`, x.Request, x.N)
	if err != nil {
		return nil, err
	}
	c.Step = st
	_, _, err = one(ctx, t, func(sc scanner) (bool, error) {
		var rights string
		var modes [4]fika.Mode
		err := sc.Scan(&c.Agent, &c.Origin, &rights, &c.Taint, &c.Chain, &modes[0], &modes[1], &modes[2], &modes[3])
		if c.Mode = fika.Strictest(modes[:]...); err == nil {
			c.Rights, err = readRights(rights)
		}
		return true, err
	}, `SELECT a.name, r.origin, r.rights, r.taint, r.chain, c.mode, `+modesElsewhere+`
FROM requests r JOIN agents a ON a.id = r.agent JOIN conversations c ON c.id = r.conversation WHERE r.id = ?`, x.Request)
	if err != nil {
		return nil, err
	}
	if c.Args, _, err = one(ctx, t, scanText, `SELECT e.content FROM requests r JOIN entries e ON e.conversation = r.conversation
WHERE r.id = ? AND e.id = ?`, x.Request, st.CallEntry); err != nil {
		return nil, err
	}
	c.Answers, err = many(ctx, t, scanApproval, `SELECT `+approvalColumns+` FROM approvals p WHERE p.request = ? AND p.step = ? ORDER BY p.n`, x.Request, x.N)
	return c, err
}

// RecordExecution stores the process that a call runs in.
func (s Executions) RecordExecution(ctx context.Context, l ExecutorLease, id fika.RequestID, n int, p fika.Process) error {
	const op = "record process"
	return s.writeRelaxed(ctx, op, func(ctx context.Context, t *tx) error {
		return t.put(ctx, `UPDATE executions SET pid = ?, pid_start = ?, boot_id = ? WHERE request = ? AND n = ? AND state = 'claimed' AND lease = ?`,
			p.PID, p.Start, p.BootID, id, n, l.ID)
	})
}

// FinishStep stores the result of a call. It fails with Lost if this process is no
// longer the executor, or if the request has ended and nobody can use the result; in
// that case the call is deleted.
func (s Executions) FinishStep(ctx context.Context, l ExecutorLease, id fika.RequestID, n int, result string) error {
	const op = "finish tool step"
	over := false
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		hit, err := t.exec(ctx, `UPDATE executions SET state = 'done', result = ?, finished_at = ?
WHERE request = ? AND n = ? AND (state = 'claimed' OR state = 'done' AND result = ?) AND lease = ? AND `+holdsExecutor+`
AND EXISTS (SELECT 1 FROM requests r WHERE r.id = executions.request AND r.finished_at = 0)`,
			result, t.now, id, n, result, l.ID, l.Executor, l.Epoch, l.ID)
		over = err == nil && hit == 0
		if !over {
			return err
		}
		return t.put(ctx, `DELETE FROM executions WHERE request = ? AND n = ? AND lease = ? AND `+holdsExecutor+`
AND EXISTS (SELECT 1 FROM requests r WHERE r.id = executions.request AND r.finished_at > 0)`, id, n, l.ID, l.Executor, l.Epoch, l.ID)
	})
	if err == nil && over {
		err = fika.Errorf(fika.Lost, op, "the step is another's, or its request has ended")
	}
	return err
}

// StepsOf returns the calls that this process has claimed and not finished. Canceled
// is set for those that are no longer wanted.
func (s Executions) StepsOf(ctx context.Context, l ExecutorLease) ([]Execution, error) {
	list, err := many(ctx, s.r, func(sc scanner) (Execution, error) {
		var over int64
		x, err := executionRow(sc, &over)
		x.Canceled = x.Canceled || over > 0
		return x, err
	}, `SELECT `+executionColumns+`, CASE WHEN r.finished_at > 0 OR r.cancel_at > 0 THEN 1 ELSE 0 END
FROM executions x JOIN requests r ON r.id = x.request WHERE x.executor = ? AND x.state = 'claimed' AND x.lease = ?`, l.Executor, l.ID)
	return list, s.explain("read executions", err)
}

// TakeOver gives this process the calls that an earlier one had claimed and left
// behind, so that it can end their processes and decide about them.
func (s Executions) TakeOver(ctx context.Context, l ExecutorLease) ([]ClaimedStep, error) {
	const op = "take over executions"
	var out []ClaimedStep
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = nil
		left, err := many(ctx, t, scanExecution, `SELECT `+executionColumns+` FROM executions x WHERE x.executor = ? AND x.state = 'claimed' ORDER BY x.offered_at`, l.Executor)
		if err != nil {
			return err
		}
		for _, x := range left {
			hit, err := t.exec(ctx, `UPDATE executions SET lease = ?, attempts = attempts + 1 WHERE request = ? AND n = ? AND state = 'claimed' AND `+holdsExecutor,
				l.ID, x.Request, x.N, l.Executor, l.Epoch, l.ID)
			if err := lostUnless(hit, err, op, l.Executor); err != nil {
				return err
			}
			x.Attempts++
			c, err := t.claimedStep(ctx, x)
			if err != nil {
				return err
			}
			out = append(out, *c)
		}
		return t.forgetExecutions(ctx, l.Executor)
	})
	return out, err
}
