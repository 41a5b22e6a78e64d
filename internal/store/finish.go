package store

import (
	"context"
	"strings"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/workflow"
)

// Finish says how a request ends.
type Finish struct {
	State  fika.RequestState // one of the terminal ones
	Reason string
	// Final is the model call that made the final text; its entry, step and usage are
	// committed with the outcome. Without text it has no entry, and calls nobody. It is nil
	// if there is none.
	Final *ModelCommit
	// Answer is the seq of the final text, if that was committed before; 0: it was not.
	Answer int64
	// Notify lists the agents mentioned in the final text (chats only). They are not
	// notified past Limits.MaxDepth, nor if Echo is set.
	Notify []fika.AgentName
	// Rights bounds what the agents in Notify may do because of the final text.
	Rights *fika.Rights
	// Echo means that the final text only repeats what this agent and the one it
	// mentions have been telling each other: the chain stops here.
	Echo bool
	// Rejected means that no answer had the form that was asked for.
	Rejected bool
	// Holds means that what is worked of the board waits for a person now, because of Reason.
	Holds bool
	// Work is what was done of a task of the board that others review; nil: it does not matter.
	Work *HandedIn
	// Limit is the limit of the chain that ends the turn before its answer, as named
	// by [Turns.Exceeded]. Its notice is posted, once, and the notifications of the
	// turn are dropped with the reason "limit".
	Limit string
	// To is the recipient of the final entry; empty: the conversation's usual one.
	To     string
	Limits Limits
	// TTL is how long everything that the turn has written in a chat is kept from now
	// on; 0: for ever. It all expires at once, so that no call is left without its
	// result.
	TTL time.Duration
	// Notice, if not empty, is posted as a notice entry: why a turn failed, or which
	// agents the answer of a successful one could not call.
	Notice string
	// Partial is what the model had said of the answer when a person cut it off. It is
	// stored as a message that is no answer.
	Partial string
	Outcome fika.Outcome // its ErrorKind is also the kind of Notice
}

// Finished reports what [Turns.Finish] committed.
type Finished struct {
	Request  fika.Request
	Entries  []fika.Entry     // the final entry, notices and what people had queued, in order
	Notified []fika.AgentName // to be woken
	Limited  string           // the limit that stopped forwarding, if one did
	Booked   []limit.Booked   // of the last call, in the budgets that hold for the request
}

// The texts used in place of a missing tool result.
const (
	textMaybeRan = "interrupted: it may or may not have run"
	textNotRun   = "not run: the turn ended first"
)

// Finish ends the request, once. Unless its state is done, its unfinished children
// are cancelled. It fails with Invalid if State is not terminal.
func (s Turns) Finish(ctx context.Context, f Fence, fin Finish) (Finished, error) {
	const op = "finish request"
	var out Finished
	if !fin.State.Terminal() {
		return out, fika.Errorf(fika.Invalid, op, "%q is not an outcome", fin.State)
	}
	var q finishing
	err := s.withinLease(ctx, op, f, turnEnds, func(ctx context.Context, t *tx, r turn) error {
		out = Finished{}
		fin := fin // each try begins with the caller's value
		r.found = &q
		if err := t.repair(ctx, r); err != nil {
			return err
		}
		if fin.Final != nil {
			if err := t.final(ctx, &r, &fin, &out); err != nil {
				return err
			}
		}
		if fin.Answer > 0 {
			if err := t.settled(ctx, r, &fin); err != nil {
				return err
			}
		}
		if strings.TrimSpace(fin.Partial) != "" {
			e := r.said(ModelCommit{Text: fin.Partial}, r.addressee())
			if err := t.append(ctx, &e); err != nil {
				return err
			}
			out.Entries = append(out.Entries, e)
		}
		said, err := limitsIn(t).recordOwnLimit(ctx, r, fin)
		if err != nil {
			return err
		}
		out.Entries = append(out.Entries, said...)
		e := ending{state: fin.State, reason: fin.Reason, notice: fin.Notice, kind: string(fin.Outcome.ErrorKind), outcome: fin.Outcome, rejected: fin.Rejected, holds: fin.Holds, work: fin.Work, rounds: fin.Limits.Rounds}
		if e.kind == "" && e.state == fika.Done {
			e.kind = "refused"
		}
		ended, err := t.conclude(ctx, r, e)
		if err != nil {
			return err
		}
		out.Entries = append(out.Entries, ended.entries...)
		out.Notified = append(out.Notified, ended.ring...)
		if fin.TTL > 0 && r.conv.Kind == fika.Chat {
			if err := expiredIn(t).keepFor(ctx, r, fin.TTL, out.Entries); err != nil {
				return err
			}
		}
		out.Request = ended.request
		out.Entries = append(out.Entries, ended.posted...)
		out.Booked, err = accountsIn(t).book(ctx, r)
		return err
	}, q.questions(f, fin.Notify)...)
	return out, err
}

// finishing holds the facts needed to end a request, read together.
type finishing struct {
	request fika.Request
	open    []fika.Step
	answers string // the message that it answers: that of the newest notification it covers
	usage   fika.Usage
	parent  string // the agent that waits for it
	inputs  []Input
	told    recipients
}

// questions returns the questions to ask about a turn that ends and notifies others.
func (q *finishing) questions(f Fence, tell []fika.AgentName) []question {
	id := f.Request
	stepped := func(r turn) bool { return r.steps > 0 }
	list := []question{
		{ask: q.requestRow(id)},
		{ask: q.openSteps(id), of: stepped},
		{ask: q.lastCovered(id), of: func(r turn) bool { return r.kind == fika.NotifyRequest }},
		{ask: q.spent(id), of: stepped},
		{ask: q.parentOf(id), of: func(r turn) bool { return r.parent != "" }},
		{ask: q.queued(id), of: func(r turn) bool { return r.inputs }},
	}
	for _, name := range onceEach(tell) {
		list = append(list, question{
			ask: func() statement { return q.told.ask(name) },
			of:  func(r turn) bool { return r.conv.Kind == fika.Chat && r.agentName != name },
		})
	}
	return list
}

func (q *finishing) requestRow(id fika.RequestID) func() statement {
	return func() statement {
		*q = finishing{} // asked first: facts that are not asked about stay zero
		return first(&q.request, nil, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`, id)
	}
}

func (q *finishing) openSteps(id fika.RequestID) func() statement {
	return func() statement { return openSteps(&q.open, id) }
}

// openSteps returns the statement that reads the tool steps without a result.
func openSteps(into *[]fika.Step, id fika.RequestID) statement {
	*into = nil
	return all(into, scanStep, `SELECT `+stepColumns+` FROM steps s WHERE s.request = ? AND s.kind = 'tool'
AND s.state IN ('planned', 'started') ORDER BY s.n`, id)
}

func (q *finishing) queued(id fika.RequestID) func() statement {
	return func() statement { return queuedFor(&q.inputs, id) }
}

func (q *finishing) lastCovered(id fika.RequestID) func() statement {
	return func() statement {
		q.answers = ""
		return first(&q.answers, nil, scanText, `SELECT e.id FROM notifications n
JOIN entries e ON e.conversation = n.conversation AND e.seq = n.seq
WHERE n.request = ? AND n.request <> '' ORDER BY n.seq DESC LIMIT 1`, id)
	}
}

func (q *finishing) spent(id fika.RequestID) func() statement {
	return func() statement {
		return first(&q.usage, nil, scanUsage, `SELECT `+usageSums+` FROM usage u WHERE u.request = ?`, id)
	}
}

func (q *finishing) parentOf(id fika.RequestID) func() statement {
	return func() statement {
		q.parent = ""
		return first(&q.parent, nil, scanText, `SELECT a.name FROM requests r JOIN requests p ON p.id = r.parent JOIN agents a ON a.id = p.agent
WHERE r.id = ? AND r.parent <> '' AND p.finished_at = 0`, id)
	}
}

// finishingOf reads the facts needed to end a request.
func (t *tx) finishingOf(ctx context.Context, id fika.RequestID) (*finishing, error) {
	var q finishing
	return &q, t.run(ctx, q.requestRow(id)(), q.openSteps(id)(), q.lastCovered(id)(), q.spent(id)(), q.parentOf(id)(), q.queued(id)())
}

// final stores the model call that made the final text and notifies the agents that
// it mentions.
func (t *tx) final(ctx context.Context, r *turn, fin *Finish, out *Finished) error {
	r.found.usage = r.found.usage.Add(fin.Final.Usage)
	if fin.Final.Text == "" {
		return t.modelStep(ctx, r, *fin.Final, "")
	}
	to := fin.To
	if to == "" {
		to = r.addressee()
	}
	e := r.said(*fin.Final, to)
	e.Meta.Final = true
	e.Meta.Plan = fin.Final.Plan && fin.State == fika.Done && r.conv.Kind == fika.Chat && r.mode() == fika.PlanMode
	if r.kind == fika.NotifyRequest {
		e.ReplyTo = fika.EntryID(r.found.answers)
	}
	if err := t.append(ctx, &e); err != nil {
		return err
	}
	t.told(e).data.Round = fin.Final.Round
	if err := t.modelStep(ctx, r, *fin.Final, e.ID); err != nil {
		return err
	}
	fin.Outcome.Entry, fin.Outcome.Seq = e.ID, e.Seq
	if fin.Outcome.Answer == "" && fin.State == fika.Done {
		fin.Outcome.Answer = e.Content
	}
	out.Entries = append(out.Entries, e)
	if r.conv.Kind != fika.Chat || len(fin.Notify) == 0 {
		return nil
	}
	return t.forward(ctx, *r, e, *fin, out)
}

// forward notifies the agents that a final text mentions, unless the chain has become
// too deep or echoes.
func (t *tx) forward(ctx context.Context, r turn, e fika.Entry, fin Finish, out *Finished) error {
	l := fin.Limits.HoldingIn(r.conv.Limits)
	name := l.Forward(e.Depth, fin.Echo)
	told, err := postsIn(t).notify(ctx, r.conv, e, r.found.told.without(r.agentName), fin.Rights, name)
	if err != nil || name == "" {
		out.Notified = told
		return err
	}
	if len(told) == 0 {
		return nil
	}
	out.Limited = name
	reached := limit.Reached{Chain: r.chain, Limit: name, Limits: l, Where: r.conv.Name}
	if name == limit.Echo {
		reached.Between = [2]fika.AgentName{r.agentName, fin.Notify[0]}
	}
	said, err := limitsIn(t).recordLimit(ctx, r.conv, reached)
	out.Entries = append(out.Entries, said...)
	return err
}

// ending says how a request ends.
type ending struct {
	state   fika.RequestState
	reason  string
	notice  string // posted, if not empty
	kind    string // of the notice; empty: that of the state
	outcome fika.Outcome
	// rejected means that no answer had the form that was asked for.
	rejected bool
	holds    bool      // what is worked of the board waits for a person
	work     *HandedIn // of a task that others review
	rounds   int       // how often work comes back
}

// ended reports what ending a request committed.
type ended struct {
	request fika.Request // as it now stands
	entries []fika.Entry
	posted  []fika.Entry     // what people had queued for the turn
	ring    []fika.AgentName // agents with a turn that waited for this outcome, or with a message
}

// end gives a request its one outcome, and its open tool calls a result.
func (t *tx) end(ctx context.Context, r turn, e ending) (ended, error) {
	var err error
	if r.found, err = t.finishingOf(ctx, r.id); err != nil {
		return ended{}, err
	}
	if err := t.repair(ctx, r); err != nil {
		return ended{}, err
	}
	return t.conclude(ctx, r, e)
}

// conclude gives a request its one outcome and settles everything that depends on it.
func (t *tx) conclude(ctx context.Context, r turn, e ending) (ended, error) {
	var out ended
	if e.state == fika.Cancelled && e.notice == "" && r.uptoSeq > 0 && r.kind != fika.WorkflowRequest && r.conv.Kind != fika.Task {
		e.notice, e.kind = r.interruption(e), string(fika.Interrupted)
	}
	if e.notice != "" {
		kind := e.kind
		if kind == "" {
			kind = string(e.state)
		}
		n := limitsIn(t).notice(r.conv, e.notice, kind)
		n.Request, n.Chain, n.Depth = r.id, r.chain, r.depth+1
		n.Meta.WriterName = string(r.agentName)
		if n.Meta.Kind == string(fika.Interrupted) {
			n.ReplyTo = fika.EntryID(r.found.answers)
		}
		if err := t.append(ctx, &n); err != nil {
			return out, err
		}
		out.entries = append(out.entries, n)
	}
	var err error
	if out.request, err = t.insertOutcome(ctx, r, e); err != nil {
		return out, err
	}
	if out.request.Task > 0 {
		if err := boardIn(t).requestEnded(ctx, out.request, r.agentName, e); err != nil {
			return out, err
		}
	}
	if out.request.Payload.Review > 0 {
		if err := boardIn(t).reviewEnded(ctx, out.request, r.agentName, e); err != nil {
			return out, err
		}
	}
	if err := t.settle(ctx, r, e); err != nil {
		return out, err
	}
	if err := accountsIn(t).release(ctx, r); err != nil {
		return out, err
	}
	if r.conv.Run != "" {
		if err := t.endStep(ctx, r, e, out.request); err != nil {
			return out, err
		}
	}
	if err := t.leaveConversation(ctx, r); err != nil {
		return out, err
	}
	if e.state != fika.Done && e.state != fika.StateInterrupted { // which a person may continue
		if err := t.cancelChildren(ctx, r, e.reason); err != nil {
			return out, err
		}
	}
	if out.posted, err = inputsIn(t).post(ctx, r); err != nil {
		return out, err
	}
	if len(out.posted) > 0 {
		out.ring = append(out.ring, r.agentName)
	}
	if r.found.parent != "" {
		out.ring = append(out.ring, fika.AgentName(r.found.parent))
	}
	return out, nil
}

// InterruptedBy begins the reason of a cancellation that says who wanted it; the name ends
// at ": ", which may be followed by why.
const InterruptedBy = "interrupted by "

// interruption returns the notice that a turn was cut off before its answer. It is shown to
// people, and to the model in later turns.
func (r turn) interruption(e ending) string {
	by := interruptedBy(e.reason)
	if e.outcome.ErrorKind == fika.Limit || e.reason == reasonDeadline {
		by = "interrupted: " + e.reason
	}
	if r.conv.Kind == fika.Chat {
		return "@" + string(r.agentName) + " was " + by
	}
	return by
}

// interruptedBy says who has interrupted something, without why.
func interruptedBy(reason string) string {
	if by, _, _ := strings.Cut(reason, ": "); strings.HasPrefix(by, InterruptedBy) {
		return by
	}
	return InterruptedBy + "the user"
}

// insertOutcome writes the outcome to the request's row. It fails with Lost if the
// request already has one.
func (t *tx) insertOutcome(ctx context.Context, r turn, e ending) (fika.Request, error) {
	done := r.found.request
	if !done.FinishedAt.IsZero() {
		return done, fika.Errorf(fika.Lost, "finish request", "request %s has its outcome already", r.id)
	}
	if e.outcome.Usage == (fika.Usage{}) {
		e.outcome.Usage = r.found.usage
	}
	if e.outcome.Error == "" && e.state != fika.Done {
		e.outcome.Error = e.reason
	}
	outcome, err := toJSON("finish request", e.outcome)
	if err != nil {
		return done, err
	}
	done.State, done.Reason, done.Outcome, done.Touched, done.FinishedAt = e.state, e.reason, e.outcome, at(t.now), at(t.now)
	done.Attempts = r.attempts
	d := EventData{Error: e.outcome.ErrorKind, Answer: e.outcome.Seq}
	if !done.StartedAt.IsZero() {
		d.MS = t.now - ms(done.StartedAt)
	}
	if u := e.outcome.Usage; u != (fika.Usage{}) {
		d.Usage = &u
	}
	t.tellTurn(r, e.state, d)
	return done, t.put(ctx, `UPDATE requests SET state = ?, reason = ?, outcome = ?, touched = ?, finished_at = ?, wait_until = 0
WHERE id = ?`, e.state, e.reason, outcome, t.now, t.now, r.id)
}

func scanUsage(s scanner) (u fika.Usage, err error) {
	err = s.Scan(&u.Input, &u.Output, &u.Cached, &u.Reasoning, &u.Cost, &u.Estimated, &u.Unpriced, &u.Subscription)
	return u, err
}

// settle decides the notifications that a request covered: no outcome leaves any of
// them claimed.
func (t *tx) settle(ctx context.Context, r turn, e ending) error {
	state, reason, holder := fika.NotificationDone, "", r.id
	switch {
	case e.state == fika.Done:
	case e.state == fika.Cancelled:
		state, reason = fika.NotificationDropped, string(fika.Cancelled)
	case r.kind == fika.NotifyRequest:
		state, reason = fika.NotificationDead, string(e.state)
	default:
		state, holder = fika.NotificationPending, ""
	}
	return t.put(ctx, `UPDATE notifications SET state = ?, reason = ?, request = ? WHERE request = ? AND request <> '' AND state = 'claimed'`,
		state, reason, holder, r.id)
}

// leaveConversation advances the agent's cursor in a chat, and completes a task.
func (t *tx) leaveConversation(ctx context.Context, r turn) error {
	switch r.conv.Kind {
	case fika.Chat:
		if r.uptoSeq == 0 {
			return nil // it never began
		}
		return t.put(ctx, `INSERT INTO participants (conversation, agent, person, cursor, joined_at) VALUES (?, ?, '', ?, ?)
ON CONFLICT (conversation, agent, person) DO UPDATE SET cursor = excluded.cursor WHERE participants.cursor < excluded.cursor`,
			r.conv.ID, r.agent, r.uptoSeq, t.now)
	case fika.Task:
		// A pause inherited from the chat that the task works for ends with it.
		t.tell(event{kind: ConversationEvent, conversation: r.conv.ID, agent: r.conv.Agent, state: string(fika.Completed)})
		return t.put(ctx, `UPDATE conversations SET status = 'completed', paused = 0, updated_at = ? WHERE id = ?`, t.now, r.conv.ID)
	}
	return nil
}

// repair gives a result to every tool call of r that has none, so that no finished
// request leaves a transcript that a model would refuse.
func (t *tx) repair(ctx context.Context, r turn) error {
	for _, st := range r.found.open {
		text := textNotRun
		if st.State == fika.StepStarted {
			text = textMaybeRan
		}
		if _, err := t.result(ctx, r, st, ToolCommit{Text: text, IsError: true, Interrupted: true}); err != nil {
			return err
		}
	}
	return nil
}

// cancelChildren cancels the unfinished children of a request that ends without an
// answer, and those of its earlier tries that it has taken over: nobody waits for them
// any more.
func (t *tx) cancelChildren(ctx context.Context, r turn, reason string) error {
	children, err := many(ctx, t, scanText, `SELECT id FROM requests WHERE parent = ? AND parent <> '' AND finished_at = 0
UNION SELECT k.id FROM steps s JOIN requests k ON k.id = s.pre_hash WHERE s.request = ? AND s.pre_hash <> '' AND k.finished_at = 0`, r.id, r.id)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := t.cancel(ctx, fika.RequestID(child), reason); err != nil {
			return err
		}
	}
	return nil
}

// cancel ends a request that nobody is working, and asks a running one to stop. It
// reads the row itself, because ending another request may have ended this one.
func (t *tx) cancel(ctx context.Context, id fika.RequestID, reason string) error {
	r, err := t.lockTurn(ctx, id)
	switch {
	case err != nil:
		return err
	case r.state.Terminal():
		return nil
	case r.kind == fika.WorkflowRequest:
		why := workflow.ReasonStopped
		if reason == reasonDeadline {
			why, reason = workflow.LimitTime, "it took longer than its max_time"
		}
		return t.stopFlow(ctx, r.conv.ID, r.id, why, reason)
	case r.state == fika.Running:
		t.tellTurn(r, r.state, EventData{Cancel: true, Epoch: r.epoch})
		_, err := t.exec(ctx, `UPDATE requests SET cancel_at = ?, reason = ? WHERE id = ? AND cancel_at = 0`, t.now, reason, r.id)
		return err
	}
	_, err = t.end(ctx, r, ending{state: fika.Cancelled, reason: reason, outcome: fika.Outcome{ErrorKind: fika.Interrupted}})
	return err
}
