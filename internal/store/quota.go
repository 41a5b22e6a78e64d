package store

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/rights/limit"
)

// hour is the length of a quota's hour, in milliseconds.
const hour = int64(time.Hour / time.Millisecond)

// askQuota returns the statements that read what an agent has used of the hour around
// a time, for the limits that are set.
func askQuota(q *limit.Quota, id fika.AgentID, l Limits, now int64) []statement {
	*q = limit.Quota{Begins: limit.HourOf(at(now))}
	begins := ms(q.Begins)
	var list []statement
	if l.HourTurns > 0 {
		list = append(list, first(&q.Turns, nil, scanInt, `SELECT hour_turns FROM agents WHERE id = ? AND hour_start = ?`, id, begins))
	}
	if l.HourTokens > 0 {
		list = append(list, first(&q.Tokens, nil, scanInt, `SELECT COALESCE(sum(input + output), 0) FROM usage WHERE agent = ? AND at >= ?`, id, begins))
	}
	return list
}

// quotaExceeded returns how an agent has used up its current hour, or nil if it has
// not.
func quotaExceeded(ctx context.Context, r querier, id fika.AgentID, l Limits, now int64) (*limit.Exceeded, error) {
	var q limit.Quota
	if list := askQuota(&q, id, l, now); len(list) > 0 {
		if err := r.run(ctx, list...); err != nil {
			return nil, err
		}
	}
	return q.Exceeded(l), nil
}

// quotaExceeded returns the same for the claimer, which may have been asked about
// already.
func (k *claim) quotaExceeded(ctx context.Context) (*limit.Exceeded, error) {
	if q := k.guessed.quota; q.Begins.Equal(limit.HourOf(at(k.now))) {
		return q.Exceeded(k.limits), nil
	}
	return quotaExceeded(ctx, k.tx, k.agent.ID, k.limits, k.now)
}

// countTurn counts a turn that begins in its agent's hour.
func (k *claim) countTurn(ctx context.Context) error {
	if k.limits.HourTurns <= 0 {
		return nil
	}
	begins := k.now - k.now%hour
	return k.put(ctx, `UPDATE agents SET hour_turns = CASE WHEN hour_start = ? THEN hour_turns + 1 ELSE 1 END, hour_start = ? WHERE id = ?`,
		begins, begins, k.agent.ID)
}

// nextWithinQuota looks for work that the agent's hour has room for: once it is used
// up, only for work that had begun.
func (k *claim) nextWithinQuota(ctx context.Context) (*Claimed, error) {
	quota, err := k.quotaExceeded(ctx)
	if err != nil {
		return nil, err
	}
	if quota == nil {
		if err := k.clearHeld(ctx); err != nil {
			return nil, err
		}
		return k.next(ctx)
	}
	begun, ok, err := one(ctx, k.tx, scanCandidate, nextBegun, k.agent.ID, k.now)
	if err != nil {
		return nil, err
	}
	if ok {
		out, err := k.take(ctx, fika.RequestID(begun.id))
		k.wrote = k.wrote || out == nil && !k.busy
		return out, err
	}
	return nil, k.noteQuota(ctx, *quota)
}

const (
	waitingRequests = `SELECT DISTINCT r.conversation FROM requests r JOIN conversations c ON c.id = r.conversation JOIN agents a ON a.id = r.agent
WHERE r.agent = ? AND ` + claimable
	waitingBatches = `SELECT DISTINCT r.conversation FROM notifications r JOIN conversations c ON c.id = r.conversation
WHERE r.agent = ? AND ` + batchable
)

// noteQuota posts a notice, once an hour, in each conversation where something waits
// for the agent, and records the reason in the agent's row. If nothing waits, it does
// neither.
func (k *claim) noteQuota(ctx context.Context, q limit.Exceeded) error {
	where, err := many(ctx, k.tx, scanText, waitingRequests, k.agent.ID, k.now)
	if err != nil {
		return err
	}
	more, err := many(ctx, k.tx, scanText, waitingBatches, k.agent.ID)
	if err != nil {
		return err
	}
	where = append(where, more...)
	slices.Sort(where)
	where = slices.Compact(where)
	for _, id := range where {
		c, err := conversationsIn(k.tx).lock(ctx, fika.ConversationID(id))
		if err != nil {
			return err
		}
		said, err := limitsIn(k.tx).postQuotaNotice(ctx, c, k.agent.ID, k.agent.Name, q)
		if err != nil {
			return err
		}
		k.noticed = append(k.noticed, said...)
	}
	if len(where) == 0 || k.agent.HeldUntil.Equal(q.Until) && k.agent.HeldReason == q.Limit {
		k.wrote = k.wrote || len(k.noticed) > 0
		return nil
	}
	k.wrote = true
	return limitsIn(k.tx).setHeld(ctx, k.agent.ID, q)
}

// clearHeld removes the record of an hour that has passed, or of a limit that has
// been raised.
func (k *claim) clearHeld(ctx context.Context) error {
	if k.agent.HeldUntil.IsZero() {
		return nil
	}
	k.wrote = true
	return limitsIn(k.tx).setHeld(ctx, k.agent.ID, limit.Exceeded{})
}

// postQuotaNotice posts the notice that an agent's hour is used up, once an hour per
// conversation.
func (t limitRows) postQuotaNotice(ctx context.Context, c fika.Conversation, id fika.AgentID, name fika.AgentName, q limit.Exceeded) ([]fika.Entry, error) {
	return t.noteOnce(ctx, c, q.NoticeID(id), "", q.Notice(name), reasonLimit)
}

// setHeld records in an agent's row until when, and why, it begins nothing new.
func (t limitRows) setHeld(ctx context.Context, id fika.AgentID, q limit.Exceeded) error {
	_, err := t.tellAgents(ctx, `UPDATE agents SET held_until = ?, held_reason = ? WHERE id = ?`, ms(q.Until), q.Limit, id)
	return err
}

// refuseOverQuota fails with Limit if the agent's hour has no room for a request that
// is to begin at once.
func (k *claim) refuseOverQuota(ctx context.Context, op string) error {
	q, err := quotaExceeded(ctx, k.tx, k.agent.ID, k.limits, k.now)
	if err == nil && q != nil {
		err = fika.Errorf(fika.Limit, op, "%s", q.Refusal(k.agent.Name))
	}
	return err
}
