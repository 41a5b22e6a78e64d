package store

import (
	"context"
	"slices"

	"fika"
	"fika/internal/text/hint"
)

// Cancel ends an open or waiting request at once and asks a running one to stop
// (cancel_at). It leaves a finished request as it is. It returns the request as it
// stands afterwards.
func (s Requests) Cancel(ctx context.Context, id fika.RequestID, reason string) (fika.Request, error) {
	const op = "cancel request"
	var out fika.Request
	if reason == "" {
		reason = string(fika.Cancelled)
	}
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		if err := t.cancel(ctx, id, reason); err != nil {
			return err
		}
		var err error
		out, _, err = one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`, id)
		return err
	})
	return out, err
}

// RetryNow makes a request that waits for its model's provider claimable at once, and
// reports whether it was waiting for one.
func (s Requests) RetryNow(ctx context.Context, id fika.RequestID) (woken bool, err error) {
	err = s.write(ctx, "retry now", func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE requests SET wait_until = 1 WHERE id = ? AND finished_at = 0 AND state = 'waiting' AND reason = 'provider'`, id)
		woken = n > 0
		t.discard = !woken
		return err
	})
	return woken, err
}

// Retry makes a new request (retry_of) from a finished one that did not end as done,
// and lets it take over the dead notifications. The new request belongs to the same
// chain, or to a new one if a limit has ended that. Retry fails with Conflict if the
// request is done, has not ended, has already been tried again, or is a run of a workflow.
func (s Requests) Retry(ctx context.Context, id fika.RequestID) (fika.Request, error) {
	out, err := s.RetryAll(ctx, id)
	if err != nil {
		return fika.Request{}, err
	}
	return out[0], nil
}

// RetryAll is [Requests.Retry] for several requests, all of them or none.
func (s Requests) RetryAll(ctx context.Context, ids ...fika.RequestID) ([]fika.Request, error) {
	const op = "retry request"
	var out []fika.Request
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = nil
		var ended []fika.Request
		for _, id := range ids {
			old, ok, err := one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`+lockRequest, id)
			switch {
			case err != nil:
				return err
			case !ok:
				return fika.WithHint(fika.Errorf(fika.NotFound, op, "request %q not found", id), hint.RequestList.With())
			case old.Kind == fika.WorkflowRequest:
				return fika.WithHint(fika.Errorf(fika.Conflict, op, "request %s is a run of a workflow, which is resumed", id), hint.WorkflowResume.With(id))
			case old.State == fika.Done:
				return fika.Errorf(fika.Conflict, op, "request %s is done: nothing to try again", id)
			case !old.State.Terminal():
				return fika.Errorf(fika.Conflict, op, "request %s is still %s: cancel it first", id, old.State)
			}
			ended = append(ended, old)
		}
		for _, old := range ended {
			r, err := requestsIn(t).retry(ctx, op, old)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// retry stores the new request: it continues in the old one's conversation and takes
// over the notifications that died or were dropped with it.
func (t requestRows) retry(ctx context.Context, op string, old fika.Request) (fika.Request, error) {
	again, found, err := one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r
WHERE r.retry_of = ? AND r.retry_of <> '' AND (r.finished_at = 0 OR r.state = 'done') LIMIT 1`, old.ID)
	switch {
	case err != nil:
		return fika.Request{}, err
	case found && again.State == fika.Done:
		return fika.Request{}, fika.Errorf(fika.Conflict, op, "request %s was tried again as %s, which is done", old.ID, again.ID)
	case found:
		return fika.Request{}, fika.Errorf(fika.Conflict, op, "request %s is being tried again already, as %s", old.ID, again.ID)
	}
	p := old.Payload
	p.Continue = p.Continue || old.UptoSeq > 0 && old.Kind != fika.NotifyRequest
	n := NewRequest{
		ID: fika.RequestID(t.newID()), Kind: old.Kind, Origin: fika.Queued, Agent: old.Agent,
		RetryOf: old.ID, Chain: old.Chain, Depth: old.Depth, Payload: p, Rights: old.Rights, Taint: old.Taint,
	}
	n.Payload.Deadline, n.Payload.Attempt = 0, max(1, p.Attempt)+1
	if ch, _, err := one(ctx, t, scanChain, selectChain, old.Chain); err != nil {
		return fika.Request{}, err
	} else if ch.LimitHit != "" { // a person asked for it, so the chain begins anew
		n.Chain, n.Depth = "", 0
	}
	hash, err := bodyHash(n)
	if err != nil {
		return fika.Request{}, err
	}
	r, err := t.insertRequest(ctx, n, old.Conversation, hash)
	if err != nil {
		return r, err
	}
	r.Addressed, r.Handed = old.Addressed, old.Handed // whoever worked it goes on
	if err := t.put(ctx, `UPDATE requests SET asker = (SELECT o.asker FROM requests o WHERE o.id = requests.retry_of),
addressed = (SELECT o.addressed FROM requests o WHERE o.id = requests.retry_of), handed = (SELECT o.handed FROM requests o WHERE o.id = requests.retry_of) WHERE id = ?`, r.ID); err != nil {
		return r, err
	}
	if _, err := t.tellConversations(ctx, "", `UPDATE conversations SET status = 'active' WHERE kind = 'task' AND id = ?`, r.Conversation); err != nil {
		return r, err
	}
	seqs, err := many(ctx, t, scanInt, `UPDATE notifications SET state = 'claimed', reason = '', request = ?
WHERE request = ? AND request <> '' AND state IN ('dead', 'dropped') AND reason <> '`+reasonExpired+`' RETURNING seq`, r.ID, old.ID)
	slices.Sort(seqs)
	for _, seq := range seqs {
		t.also(Result{Kind: EntryEvent, Request: r.ID, Seq: seq})
	}
	return r, err
}

// reasonDeadline is the reason given for cancelling a request that took too long.
const reasonDeadline = "deadline"

// Expire cancels the requests whose deadline has passed and returns their ids.
func (s Queue) Expire(ctx context.Context) ([]fika.RequestID, error) {
	const op = "expire requests"
	const late = ` WHERE r.finished_at = 0 AND r.deadline > 0 AND r.deadline <= ? AND r.cancel_at = 0`
	// Expire is called every few seconds, mostly in vain, so it looks before it
	// writes.
	_, any, err := one(ctx, s.r, scanText, `SELECT r.id FROM requests r`+late+` LIMIT 1`, s.nowMS())
	if err != nil || !any {
		return nil, s.explain(op, err)
	}
	all, err := many(ctx, s.r, scanText, `SELECT r.id FROM requests r`+late+` ORDER BY r.deadline`, s.nowMS())
	if err != nil {
		return nil, s.explain(op, err)
	}
	// One transaction each: a delegated request ends before the one that delegated
	// it, and locks are taken in the opposite order.
	var out []fika.RequestID
	for _, id := range all {
		hit := false
		err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
			_, due, err := one(ctx, t, scanText, `SELECT r.id FROM requests r`+late+` AND r.id = ?`, t.now, id)
			if hit = due; err != nil || !due {
				t.discard = true
				return err
			}
			return t.cancel(ctx, fika.RequestID(id), reasonDeadline)
		})
		if err != nil {
			return out, err
		}
		if hit {
			out = append(out, fika.RequestID(id))
		}
	}
	return out, nil
}
