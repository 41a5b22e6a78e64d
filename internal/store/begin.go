package store

import (
	"context"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// Begin combines [Queue.Accept] and [Queue.Claim] for one request in a single
// transaction, for the holder of the lease. It fails with Locked while the
// conversation is paused or the agent has a running or waiting request in it, and
// with Limit if the agent's hour is used up or a budget has no room.
func (s Queue) Begin(ctx context.Context, l Lease, n NewRequest) (Claimed, error) {
	const op = "begin request"
	asked := time.Now()
	var out Claimed
	var origin fika.ConversationID
	err := s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		a, err := t.leased(ctx, op, l)
		if err != nil {
			return err
		}
		n.Agent = l.Agent
		acc, err := requestsIn(t).accept(ctx, n)
		if err != nil {
			return err
		}
		if err := requestsIn(t).mayBegin(ctx, op, acc); err != nil {
			return err
		}
		t.discard = false
		k := claim{tx: t, agent: a, limits: n.Limits, origin: &origin, atOnce: true}
		if err := k.refuseOverQuota(ctx, op); err != nil {
			return err
		}
		c, err := k.take(ctx, acc.Request.ID)
		if err == nil {
			out = *c
		}
		return err
	})
	out.Asked = asked
	return out, err
}

// mayBegin returns an error that says why an accepted request cannot be worked at
// once, or nil.
func (t requestRows) mayBegin(ctx context.Context, op string, acc Accepted) error {
	r, c := acc.Request, acc.Conversation
	if r.State != fika.Open {
		return fika.Errorf(fika.Conflict, op, "request %s is %s already", r.ID, r.State)
	}
	all, err := pausesIn(t.tx).allPaused(ctx)
	if err != nil {
		return err
	}
	if all {
		return fika.Errorf(fika.Locked, op, "everything is paused: %s lets it go on", hint.ChatResumeAll)
	}
	if c.Paused {
		return fika.Errorf(fika.Locked, op, "%s is paused: %s lets it go on", c.Name, hint.ChatResume.With(c.Name))
	}
	busy, found, err := one(ctx, t, scanText, `SELECT b.id FROM requests b WHERE b.conversation = ? AND b.agent = ?
AND b.finished_at = 0 AND b.state IN ('running', 'waiting') LIMIT 1`, c.ID, r.Agent)
	if err == nil && found {
		err = fika.Errorf(fika.Locked, op, "request %s is under way in %s: wait for it, or cancel it", busy, c.Name)
	}
	return err
}
