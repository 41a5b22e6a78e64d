package store

import (
	"cmp"
	"context"
	"encoding/json"

	"fika"
	"fika/internal/workflow"
)

// endStep marks the row of a run whose request has its outcome. It touches nothing
// else of the run: [Flows.Due] finds the ends that no plan has seen.
func (t *tx) endStep(ctx context.Context, r turn, e ending, done fika.Request) error {
	state, reason, text := stepEnd(e)
	answer := e.outcome.Answer
	if state == workflow.Done && done.Payload.Form != nil {
		step := workflow.Step{Output: workflow.OutputJSON, Schema: done.Payload.Form.Schema}
		var err error
		if answer, err = step.CheckOutput(answer); err != nil {
			state, reason, text = workflow.Failed, workflow.ReasonSchema, err.Error()
		}
	}
	row, ok, err := one(ctx, t, scanText, `SELECT s.id FROM flow_steps s WHERE s.request = ? AND s.request <> '' AND s.state = 'running'`, r.id)
	if err != nil || !ok {
		return err
	}
	source := ""
	if state == workflow.Done {
		source = row
		if err := flowsIn(t).putOutput(ctx, r.conv.Run, row, done.Payload.Form != nil, answer); err != nil {
			return err
		}
	}
	return t.put(ctx, `UPDATE flow_steps SET state = ?, reason = ?, error = ?, ended_at = ?, taken = 0, source = ?, taint = ? WHERE id = ? AND state = 'running'`,
		state, reason, text, t.now, source, cmp.Or(e.outcome.Taint, done.Taint), row)
}

// endDeleted fails the running steps whose work is about to be deleted and which
// would otherwise wait for it for ever. which is a condition on flow_steps s.
func (t flowRows) endDeleted(ctx context.Context, why, which string, args ...any) error {
	return t.put(ctx, `UPDATE flow_steps AS s SET state = 'failed', reason = ?, error = ?, ended_at = ?, taken = 0 WHERE s.state = 'running' AND `+which,
		append([]any{string(fika.NotFound), why, t.now}, args...)...)
}

// stepEnd returns how a step ends when its request ends as e says.
func stepEnd(e ending) (state workflow.State, reason, text string) {
	text = cmp.Or(e.outcome.Error, e.reason)
	switch {
	case e.state == fika.Done:
		return workflow.Done, "", ""
	case e.rejected:
		return workflow.Failed, workflow.ReasonSchema, text
	case e.state == fika.Cancelled:
		return workflow.Cancelled, workflow.ReasonStopped, text
	case e.outcome.ErrorKind == fika.Denied:
		return workflow.Failed, workflow.ReasonDenied, text
	case e.outcome.ErrorKind == fika.Limit:
		return workflow.Failed, workflow.ReasonLimit, text
	case e.outcome.ErrorKind != "":
		return workflow.Failed, string(e.outcome.ErrorKind), text
	}
	return workflow.Failed, string(e.state), text
}

// answerStep gives a step a person's answer to the question in args: the step goes on, is
// done, or fails.
func (t flowRows) answerStep(ctx context.Context, op, row, args string, p ApprovalAnswer) error {
	var q workflow.Question
	if err := json.Unmarshal([]byte(args), &q); err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	run, ok, err := one(ctx, t, scanText, `SELECT run FROM flow_steps WHERE id = ?`, row)
	if err != nil || !ok {
		return err
	}
	r, err := t.lockFlow(ctx, op, fika.RequestID(run))
	if err != nil {
		return err
	}
	s, ok, err := one(ctx, t, scanFlowRow, `SELECT `+rowColumns+` FROM flow_steps s WHERE s.id = ?`, row)
	switch {
	case err != nil:
		return err
	case !ok || r.Over() || r.Stop != "" || s.State != workflow.Asking:
		return fika.Errorf(fika.Conflict, op, "the step %s of run %s does not wait for an answer any more", s.Path, r.ID)
	case !p.Allow:
		s.State, s.Reason, s.Error, s.Ended, s.Taken = workflow.Failed, workflow.ReasonDenied, cmp.Or(p.Why, "denied by "+p.By), at(t.now), false
	case s.Kind == workflow.KindApproval:
		text, err := q.Take(p.Why)
		if err != nil {
			return err
		}
		s.State, s.Ended, s.Taken, s.From = workflow.Done, at(t.now), false, s.ID
		if err := t.putOutput(ctx, r.ID, s.ID, false, cmp.Or(text, "approved by "+p.By)); err != nil {
			return err
		}
	default:
		s.State, s.Approved, s.NotBefore = workflow.Waiting, true, at(t.now)
	}
	if err := t.putFlowRow(ctx, r.ID, s); err != nil {
		return err
	}
	t.tellRun(r, string(r.State), EventData{})
	return t.put(ctx, `UPDATE flow_runs SET version = version + 1, due = 1 WHERE id = ?`, r.ID)
}

// Discussion is a chat that is an unfinished step of a run.
type Discussion struct {
	Run          fika.RequestID
	Row          string
	Conversation fika.Conversation
	Chain        fika.RequestID // of the chat's first message
	Call         workflow.ChatCall
	workflow.Discussion
}

// Discussions reads the chats that are running steps of a run, or of all runs if run
// is empty, with their progress. It leaves out those of a run that is paused or is to
// end: a discussion that is cut short must not be taken for finished.
func (s Flows) Discussions(ctx context.Context, run fika.RequestID) ([]Discussion, error) {
	const op = "read discussions"
	list, err := many(ctx, s.r, scanDiscussion, selectDiscussion+` AND (? = '' OR s.run = ?)`, run, run)
	return list, s.explain(op, err)
}

const selectDiscussion = `SELECT s.run, s.id, s.chain, s.inputs, ` + conversationColumns + `,
(SELECT count(*) FROM entries e WHERE e.conversation = c.id AND e.type = 'message' AND e.seq > 1),
COALESCE((SELECT e.sender FROM entries e WHERE e.conversation = c.id AND e.type = 'message' AND e.seq > 1 ORDER BY e.seq DESC LIMIT 1), ''),
COALESCE((SELECT e.content FROM entries e WHERE e.conversation = c.id AND e.type = 'message' AND e.seq > 1 ORDER BY e.seq DESC LIMIT 1), ''),
NOT EXISTS (SELECT 1 FROM notifications n WHERE n.conversation = c.id AND n.state IN ('pending', 'claimed', 'dead') AND n.state <> 'dead')
AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.conversation = c.id AND r.finished_at = 0)
FROM flow_steps s JOIN flow_runs f ON f.id = s.run JOIN conversations c ON c.id = s.conversation
WHERE s.conversation <> '' AND s.state = 'running' AND f.ended_at = 0 AND f.paused_at = 0 AND f.stop = ''`

func scanDiscussion(sc scanner) (d Discussion, err error) {
	var created, updated int64
	var call string
	dest := append([]any{&d.Run, &d.Row, &d.Chain, &call}, conversationFields(&d.Conversation, &created, &updated)...)
	err = sc.Scan(append(dest, &d.Messages, &d.From, &d.Last, flag{&d.Quiet})...)
	d.Conversation.CreatedAt, d.Conversation.UpdatedAt = at(created), at(updated)
	if err == nil {
		err = json.Unmarshal([]byte(call), &d.Call)
	}
	return d, err
}

// EndDiscussion ends a chat that is a step, unless somebody has already ended it.
// text is the step's output; if it is empty, the step fails because nobody said
// anything. Pending notifications in the chat are dropped, and the agents still
// answering are told to stop; their names are returned.
func (s Flows) EndDiscussion(ctx context.Context, d Discussion, text string) ([]fika.AgentName, error) {
	const op = "end discussion"
	var woken []fika.AgentName
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		woken = nil
		if err := t.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.conversation = ? AND r.finished_at = 0 ORDER BY r.n`+lockRequest, d.Conversation.ID); err != nil {
			return err
		}
		var err error
		woken, err = many(ctx, t, func(sc scanner) (n fika.AgentName, err error) { return n, sc.Scan(&n) },
			`SELECT DISTINCT a.name FROM requests r JOIN agents a ON a.id = r.agent WHERE r.conversation = ? AND r.finished_at = 0`, d.Conversation.ID)
		if err != nil {
			return err
		}
		if _, err := pausesIn(t).stopChat(ctx, d.Conversation.ID, reasonStopped); err != nil {
			return err
		}
		state, reason, why, source := workflow.Done, "", "", d.Row
		if text == "" {
			state, reason, why, source = workflow.Failed, string(fika.Failed), "nobody said anything", ""
		}
		n, err := t.exec(ctx, `UPDATE flow_steps SET state = ?, reason = ?, error = ?, ended_at = ?, taken = 0, source = ?,
taint = COALESCE((SELECT r.taint FROM requests r WHERE r.conversation = ? AND r.taint <> '' LIMIT 1), '') WHERE id = ? AND state = 'running'`,
			state, reason, why, t.now, source, d.Conversation.ID, d.Row)
		if err != nil || n == 0 || text == "" {
			t.discard = err == nil && n == 0
			return err
		}
		return flowsIn(t).putOutput(ctx, d.Run, d.Row, false, text)
	})
	return woken, err
}
