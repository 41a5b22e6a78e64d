package store

import (
	"context"
	"slices"
	"time"

	"fika"
)

// GuestSession is the session that a program which does the turns of an agent has of a
// conversation.
type GuestSession struct {
	Program string // which program it is: another one knows nothing of the session
	Session string // its id there; empty: there is none
	Seen    int64  // the conversation is known there up to this seq
	Upto    int64  // the seq up to which the last prompt told of it
	Request fika.RequestID
	Prompt  string // digest of the last prompt
	// Settled says that the turn of the last prompt came to its end; otherwise nobody knows
	// how far it got.
	Settled bool
	Cost    int64 // micro-dollars that the session has cost so far
}

func scanGuestSession(s scanner) (g GuestSession, err error) {
	return g, s.Scan(&g.Program, &g.Session, &g.Seen, &g.Upto, &g.Request, &g.Prompt, flag{&g.Settled}, &g.Cost)
}

// GuestSession reads the session of an agent and a conversation; the zero value: there is
// none.
func (s Turns) GuestSession(ctx context.Context, a fika.AgentID, c fika.ConversationID) (GuestSession, error) {
	g, _, err := one(ctx, s.r, scanGuestSession, `SELECT program, session, seen_seq, upto_seq, request, prompt, settled, cost
FROM guest_sessions WHERE agent = ? AND conversation = ?`, a, c)
	return g, s.explain("read session of guest", err)
}

// PromptGuest stores that a session is about to get the prompt of a request, and reads the
// signal in the same transaction. If that is not empty, nothing was stored. From then on the
// prompt counts as sent, until [Turns.SettleGuest].
func (s Turns) PromptGuest(ctx context.Context, f Fence, g GuestSession) (Signal, error) {
	var sig Signal
	err := s.withinLease(ctx, "prompt guest", f, stepEnds, func(ctx context.Context, t *tx, r turn) error {
		if sig = r.signal(t.now); sig != (Signal{}) {
			t.discard = true
			return nil
		}
		return t.put(ctx, `INSERT INTO guest_sessions (agent, conversation, program, session, seen_seq, upto_seq, request, prompt, settled, cost, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?) ON CONFLICT (agent, conversation) DO UPDATE SET program = excluded.program, session = excluded.session,
seen_seq = excluded.seen_seq, upto_seq = excluded.upto_seq, request = excluded.request, prompt = excluded.prompt, settled = 0, cost = excluded.cost, at = excluded.at`,
			r.agent, r.conv.ID, g.Program, g.Session, g.Seen, g.Upto, r.id, g.Prompt, g.Cost, t.now)
	})
	return sig, err
}

// SettleGuest stores that the turn of the last prompt came to its end, and what the session
// has cost so far, in micro-dollars.
func (s Turns) SettleGuest(ctx context.Context, f Fence, cost int64) error {
	return s.withinLease(ctx, "settle guest", f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		return t.put(ctx, `UPDATE guest_sessions SET settled = 1, seen_seq = upto_seq, cost = ?, at = ? WHERE agent = ? AND conversation = ? AND request = ?`,
			cost, t.now, r.agent, r.conv.ID, r.id)
	})
}

// forgetGuests makes guests begin new sessions of a conversation: what they were told in the
// old ones no longer counts.
func (t conversationRows) forgetGuests(ctx context.Context, c fika.ConversationID) error {
	return t.put(ctx, `DELETE FROM guest_sessions WHERE conversation = ?`, c)
}

// HoldTask gives a planned step a child task as [Turns.Delegate] does, and leaves the request
// running: its turn waits for the task by itself. If the signal is not empty, nothing was
// stored; a pause is none.
func (s Turns) HoldTask(ctx context.Context, f Fence, d Delegation) (Delegated, error) {
	const op = "delegate"
	var out Delegated
	err := s.withinLease(ctx, op, f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		out = Delegated{Refused: map[int]string{}}
		if out.Signal = r.signal(t.now); out.Signal != (Signal{Paused: out.Signal.Paused}) {
			t.discard = true
			return nil
		}
		out.Signal = Signal{}
		above, err := many(ctx, t, scanText, waitsFor, r.id)
		if err != nil {
			return err
		}
		if i := slices.Index(above, string(d.Agent)); i >= 0 {
			out.Refused[d.N], t.discard = refusal(i), true
			return nil
		}
		k, err := childrenIn(t).child(ctx, op, r, d)
		if fika.IsKind(err, fika.NotFound) { // the agent was deleted a moment ago
			out.Refused[d.N], t.discard = "not delegated: "+err.Error(), true
			return nil
		}
		out.Children = []Child{k}
		return err
	})
	return out, err
}

// EndTask cancels a task that is later than its deadline by more than a few seconds, and
// returns it; ended says that nobody needs to wait for it any more.
func (s Turns) EndTask(ctx context.Context, f Fence, id fika.RequestID) (task fika.Request, ended bool, err error) {
	err = s.withinLease(ctx, "await children", f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		var ok bool
		var err error
		task, ok, err = one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`, id)
		late := ok && !task.State.Terminal() && ms(task.Deadline) > 0 && ms(task.Deadline)+overdue.Milliseconds() <= t.now
		if ended = !ok || task.State.Terminal() || late; err != nil || !late {
			t.discard = true
			return err
		}
		task, err = childrenIn(t).expired(ctx, id)
		return err
	})
	return task, ended, err
}

// StepsBefore reads the steps of the requests that a request tries again, directly or not,
// those made last first.
func (s Turns) StepsBefore(ctx context.Context, id fika.RequestID) ([]fika.Step, error) {
	var all []fika.Step
	for {
		before, ok, err := one(ctx, s.r, scanText, `SELECT retry_of FROM requests WHERE id = ?`, id)
		if err != nil || !ok || before == "" {
			return all, s.explain("read steps", err)
		}
		id = fika.RequestID(before)
		steps, err := many(ctx, s.r, scanStep, `SELECT `+stepColumns+` FROM steps s WHERE s.request = ? ORDER BY s.n DESC`, id)
		if err != nil {
			return all, s.explain("read steps", err)
		}
		all = append(all, steps...)
	}
}

// HoldApproval stores a question about a step that a turn waits for while it runs, and
// returns its number. If the signal is not empty, nothing was stored.
func (s Approvals) HoldApproval(ctx context.Context, f Fence, a Approval, until time.Time) (n int64, sig Signal, err error) {
	err = s.withinLease(ctx, "hold approval", f, stepStays, func(ctx context.Context, t *tx, r turn) (err error) {
		sig = r.signal(t.now)
		if sig.Paused = false; sig != (Signal{}) { // a pause does not end what has begun
			t.discard = true
			return nil
		}
		a.State = ApprovalOpen
		if a.N, _, err = one(ctx, t, scanInt, `INSERT INTO approvals (request, step, tool, args, workspace, what, rule, bound, state, asked_at, expires_at, held)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) RETURNING n`, r.id, a.Step, a.Tool, a.Args, a.Workspace, a.What, a.Rule, a.Bound, a.State, t.now, ms(until)); err != nil {
			return err
		}
		n = a.N
		t.tellQuestion(r, a)
		return nil
	})
	return n, sig, err
}

// EndHeld expires an approval that nobody waits for any more, and returns it as it then
// stands: an answer that came before stays.
func (s Approvals) EndHeld(ctx context.Context, f Fence, n int64) (Approval, error) {
	var out Approval
	err := s.withinLease(ctx, "end held approval", f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		a, ok, err := one(ctx, t, scanApproval, `SELECT `+approvalColumns+` FROM approvals p WHERE p.n = ? AND p.request = ?`, n, r.id)
		if out = a; err != nil || !ok || a.State != ApprovalOpen {
			t.discard = true
			return err
		}
		out.State = ApprovalExpired
		t.tellQuestion(r, out)
		return t.put(ctx, `UPDATE approvals SET state = 'expired' WHERE n = ? AND state = 'open'`, n)
	})
	return out, err
}
