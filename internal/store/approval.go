package store

import (
	"context"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// Approvals keeps the questions that people are asked about tool calls.
type Approvals struct{ *db }

// ApprovalState is the state of an approval.
type ApprovalState string

// The states of an approval; all but the first are final.
const (
	ApprovalOpen    ApprovalState = "open"
	ApprovalGiven   ApprovalState = "given"
	ApprovalRefused ApprovalState = "refused"
	ApprovalExpired ApprovalState = "expired"
)

// Approval is a question about a tool call, with the person's answer once there is
// one.
type Approval struct {
	N         int64 // the number by which people refer to it
	Request   fika.RequestID
	Step      int
	Tool      string
	Args      string // as the call would be executed
	Workspace string
	What      string // the part of the call that the question is about
	Rule      string // the rule that asks, with its place
	Bound     string // digest of everything that the answer is bound to
	State     ApprovalState
	By        string // the person who answered
	Host      string // the host on which they answered, or its role; empty: the hosts have one role, or there is one host
	Why       string // the reason that they gave, or their answer: see [ApprovalAnswer]
	Asked     time.Time
	Expires   time.Time
	Answered  time.Time
	FlowStep  string // the row of a run that it is about, instead of a tool call; empty: none
	Held      bool   // its turn waits while it runs, instead of being suspended
}

// OpenApproval is a question with the context that a person needs to answer it.
type OpenApproval struct {
	Approval
	Agent        fika.AgentName
	Conversation fika.ConversationName
	Chain        fika.RequestID
}

const approvalColumns = `p.n, p.request, p.step, p.tool, p.args, p.workspace, p.what, p.rule, p.bound, p.state, p.answered_by, p.why, p.asked_at, p.expires_at, p.answered_at, p.flow_step, p.held,
(SELECT CASE count(*) WHEN 0 THEN p.by_host WHEN 1 THEN max(h.name) ELSE '' END FROM hosts h WHERE h.by_host = p.by_host)`

func approvalRow(s scanner, more ...any) (a Approval, err error) {
	var asked, expires, answered int64
	err = s.Scan(append([]any{&a.N, &a.Request, &a.Step, &a.Tool, &a.Args, &a.Workspace, &a.What, &a.Rule, &a.Bound, &a.State, &a.By, &a.Why,
		&asked, &expires, &answered, &a.FlowStep, flag{&a.Held}, &a.Host}, more...)...)
	a.Asked, a.Expires, a.Answered = at(asked), at(expires), at(answered)
	return a, err
}

// Answerer says who has answered a question, and on which host.
func (a Approval) Answerer() string {
	if a.By == "" || a.Host == "" {
		return a.By
	}
	return a.By + " (on " + a.Host + ")"
}

func scanApproval(s scanner) (Approval, error) { return approvalRow(s) }

func scanOpenApproval(s scanner) (o OpenApproval, err error) {
	o.Approval, err = approvalRow(s, &o.Agent, &o.Conversation, &o.Chain)
	return o, err
}

// AskApproval stores questions about planned steps and suspends the request until all of
// them are answered or the time until has passed. An approval whose state is not open is
// already an answer and is stored only to keep its arguments. If the signal is not empty,
// nothing was stored, because the request is to stop or pause. AskApproval fails with
// Invalid for a foreground request, which nobody would resume.
func (s Approvals) AskApproval(ctx context.Context, f Fence, list []Approval, until time.Time) (Signal, error) {
	const op = "ask for approval"
	var sig Signal
	err := s.withinLease(ctx, op, f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		if r.origin == fika.Foreground {
			return fika.Errorf(fika.Invalid, op, "request %s is worked in the foreground and cannot be suspended", r.id)
		}
		if sig = r.signal(t.now); sig != (Signal{}) {
			t.discard = true
			return nil
		}
		for _, a := range list {
			if a.State == "" {
				a.State = ApprovalOpen
			}
			var err error
			if a.N, _, err = one(ctx, t, scanInt, `INSERT INTO approvals (request, step, tool, args, workspace, what, rule, bound, state, answered_by, asked_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n`, r.id, a.Step, a.Tool, a.Args, a.Workspace, a.What, a.Rule, a.Bound, a.State, a.By, t.now, ms(until)); err != nil {
				return err
			}
			t.tellQuestion(r, a)
		}
		return childrenIn(t).suspend(ctx, r, fika.WaitApproval, ms(until))
	})
	return sig, err
}

// tellQuestion adds an event about a question of a turn.
func (t *tx) tellQuestion(r turn, a Approval) {
	t.tell(event{kind: ApprovalEvent, conversation: r.conv.ID, request: r.id, chain: r.chain, agent: r.agent, seq: a.N, state: string(a.State),
		data: EventData{Step: a.Step, Tool: a.Tool}})
}

// ApprovalsOf returns the questions about the steps of a request that its owner is
// working, oldest first. It expires those that nobody answered in time.
func (s Approvals) ApprovalsOf(ctx context.Context, f Fence) ([]Approval, error) {
	var list []Approval
	err := s.withinLease(ctx, "read approvals", f, stepStays, func(ctx context.Context, t *tx, r turn) (err error) {
		list, err = many(ctx, t, scanApproval, `SELECT `+approvalColumns+` FROM approvals p WHERE p.request = ? ORDER BY p.n`, r.id)
		if err != nil {
			return err
		}
		wrote := false
		for i, a := range list {
			if a.State != ApprovalOpen {
				continue
			}
			// The request goes on, so an answer from now on comes too late.
			list[i].State, wrote = ApprovalExpired, true
			t.tellQuestion(r, list[i])
			if err := t.put(ctx, `UPDATE approvals SET state = 'expired' WHERE n = ? AND state = 'open'`, a.N); err != nil {
				return err
			}
		}
		t.discard = !wrote
		return nil
	})
	return list, err
}

const selectOpenApproval = `SELECT ` + approvalColumns + `, a.name, c.name, r.chain FROM approvals p
JOIN requests r ON r.id = p.request JOIN agents a ON a.id = r.agent JOIN conversations c ON c.id = r.conversation`

// OpenApprovals lists the questions that wait for an answer, oldest first.
func (s Approvals) OpenApprovals(ctx context.Context) ([]OpenApproval, error) {
	list, err := many(ctx, s.r, scanOpenApproval, selectOpenApproval+` WHERE p.state = 'open' AND r.cancel_at = 0 AND (p.expires_at > ? AND (r.state = 'waiting' OR p.held = 1 AND r.state = 'running')
OR p.flow_step <> '' AND r.finished_at = 0 AND (p.expires_at = 0 OR p.expires_at > ?)) ORDER BY p.n`, s.nowMS(), s.nowMS())
	return list, s.explain("list approvals", err)
}

// Approval reads one question by its number. It fails with NotFound.
func (s Approvals) Approval(ctx context.Context, n int64) (OpenApproval, error) {
	const op = "read approval"
	a, ok, err := one(ctx, s.r, scanOpenApproval, selectOpenApproval+` WHERE p.n = ?`, n)
	if err == nil && !ok {
		err = fika.WithHint(fika.Errorf(fika.NotFound, op, "approval %d not found", n), hint.Approve.With())
	}
	return a, s.explain(op, err)
}

// ApprovalAnswer is a person's answer to a question.
type ApprovalAnswer struct {
	Allow bool
	By    string
	// Why is the reason given for a refusal or, if the step of a run asks for a choice or
	// a text, the answer: see [workflow.Question].
	Why string
}

// AnswerApproval stores the answer to an open question; only the first answer counts.
// It fails with NotFound, with Conflict if the question is already answered, has
// expired, or its request no longer waits, and with Invalid for words that are no answer
// to the question of a step, which stays open.
func (s Approvals) AnswerApproval(ctx context.Context, n int64, answer ApprovalAnswer) (Approval, error) {
	const op = "answer approval"
	var a Approval
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		request, found, err := one(ctx, t, scanText, `SELECT p.request FROM approvals p WHERE p.n = ?`, n)
		if err != nil {
			return err
		}
		if !found {
			return fika.WithHint(fika.Errorf(fika.NotFound, op, "approval %d not found", n), hint.Approve.With())
		}
		r, err := t.lockTurn(ctx, fika.RequestID(request)) // of two answers, one waits here for the other
		if err != nil {
			return err
		}
		if a, _, err = one(ctx, t, scanApproval, `SELECT `+approvalColumns+` FROM approvals p WHERE p.n = ?`, n); err != nil {
			return err
		}
		if err := a.answerable(op, r, t.now); err != nil {
			return err
		}
		a.State, a.By, a.Why, a.Answered = ApprovalRefused, answer.By, answer.Why, at(t.now)
		if answer.Allow {
			a.State = ApprovalGiven
		}
		if a.FlowStep != "" {
			if err := flowsIn(t).answerStep(ctx, op, a.FlowStep, a.Args, answer); err != nil {
				return err
			}
		}
		t.tellQuestion(r, a)
		return t.put(ctx, `UPDATE approvals SET state = ?, answered_by = ?, why = ?, answered_at = ? WHERE n = ? AND state = 'open'`,
			a.State, a.By, a.Why, t.now, n)
	})
	return a, err
}

// answerable returns an error that says why a question takes no answer any more, or
// nil.
func (a Approval) answerable(op string, r turn, now int64) error {
	switch {
	case a.State == ApprovalGiven || a.State == ApprovalRefused:
		return fika.Errorf(fika.Conflict, op, "approval %d was %s by %s already", a.N, a.State, a.Answerer())
	case a.FlowStep != "" && a.State == ApprovalOpen:
		return nil // the state of its step decides
	case a.State == ApprovalExpired || ms(a.Expires) <= now:
		return fika.Errorf(fika.Conflict, op, "approval %d has expired: the call was denied", a.N)
	case r.state != fika.Waiting && !(a.Held && r.state == fika.Running) || r.cancelAt > 0:
		return fika.Errorf(fika.Conflict, op, "request %s does not wait for approval %d any more: it is %s", r.id, a.N, r.state)
	}
	return nil
}

// ApprovalsAbout returns the questions about the steps of a request, oldest first.
func (s Approvals) ApprovalsAbout(ctx context.Context, id fika.RequestID) ([]Approval, error) {
	list, err := many(ctx, s.r, scanApproval, `SELECT `+approvalColumns+` FROM approvals p WHERE p.request = ? ORDER BY p.n`, id)
	return list, s.explain("read approvals", err)
}
