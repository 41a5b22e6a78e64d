package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fika"
)

// hour is counted by the clock: from one full hour (UTC) to the next.
const hour = int64(time.Hour / time.Millisecond)

// full is an hour that an agent has used up.
type full struct {
	until int64  // when the next begins
	limit string // as in "20 turns an hour"
}

func (f full) text(name fika.AgentName) string {
	return fmt.Sprintf("@%s has used up its %s; what waits for it here goes on at %s UTC", name, f.limit, at(f.until).Format("15:04"))
}

// quota is what an agent has used of an hour. Turns are counted as they begin,
// tokens are those of the ledger.
type quota struct {
	begins        int64 // the hour
	turns, tokens int64
}

// asking asks for what has a limit.
func (u *quota) asking(id fika.AgentID, l Limits) []statement {
	var list []statement
	u.turns, u.tokens = 0, 0
	if l.HourTurns > 0 {
		list = append(list, first(&u.turns, nil, scanInt, `SELECT hour_turns FROM agents WHERE id = ? AND hour_start = ?`, id, u.begins))
	}
	if l.HourTokens > 0 {
		list = append(list, first(&u.tokens, nil, scanInt, `SELECT COALESCE(sum(input + output), 0) FROM usage WHERE agent = ? AND at >= ?`, id, u.begins))
	}
	return list
}

// full tells whether the hour is used up; nil if not.
func (u quota) full(l Limits) *full {
	switch {
	case l.HourTurns > 0 && u.turns >= int64(l.HourTurns):
		return &full{u.begins + hour, counted(int64(l.HourTurns), "turn") + " an hour"}
	case l.HourTokens > 0 && u.tokens >= l.HourTokens:
		return &full{u.begins + hour, counted(l.HourTokens, "token") + " an hour"}
	}
	return nil
}

// hourFull tells whether an agent has used up the hour that goes on; nil if
// not.
func hourFull(ctx context.Context, q querier, id fika.AgentID, l Limits, now int64) (*full, error) {
	u := quota{begins: now - now%hour}
	if list := u.asking(id, l); len(list) > 0 {
		if err := q.run(ctx, list...); err != nil {
			return nil, err
		}
	}
	return u.full(l), nil
}

// hourFull is hourFull of the claimer, which may have been asked already.
func (k *claim) hourFull(ctx context.Context) (*full, error) {
	if u := k.guessed.quota; k.guessed.counts && u.begins == k.now-k.now%hour {
		return u.full(k.limits), nil
	}
	return hourFull(ctx, k.tx, k.agent.ID, k.limits, k.now)
}

// countHour counts a turn that begins.
func (k *claim) countHour(ctx context.Context) error {
	if k.limits.HourTurns <= 0 {
		return nil
	}
	begins := k.now - k.now%hour
	return k.put(ctx, `UPDATE agents SET hour_turns = CASE WHEN hour_start = ? THEN hour_turns + 1 ELSE 1 END, hour_start = ? WHERE id = ?`,
		begins, begins, k.agent.ID)
}

// withinHour looks for work that the agent's hour has room for: when it is
// used up, only for what had begun.
func (k *claim) withinHour(ctx context.Context) (*Claimed, error) {
	f, err := k.hourFull(ctx)
	if err != nil {
		return nil, err
	}
	if f == nil {
		if err := k.unhold(ctx); err != nil {
			return nil, err
		}
		return k.next(ctx)
	}
	begun, ok, err := one(ctx, k.tx, scanCandidate, nextBegun, k.agent.ID, k.now)
	if err != nil {
		return nil, err
	}
	if ok {
		return k.take(ctx, fika.RequestID(begun.id))
	}
	return nil, k.hold(ctx, *f)
}

const (
	heldRequests = `SELECT DISTINCT r.conversation FROM requests r JOIN conversations c ON c.id = r.conversation JOIN agents a ON a.id = r.agent
WHERE r.agent = ? AND ` + claimable
	heldBatches = `SELECT DISTINCT r.conversation FROM notifications r JOIN conversations c ON c.id = r.conversation
WHERE r.agent = ? AND r.state = 'pending' AND c.paused = 0 AND ` + idleHere
)

// hold says, once an hour, in each conversation where something waits for the
// agent why it does, and notes it in the agent's row. Nothing waits: nothing
// is said.
func (k *claim) hold(ctx context.Context, f full) error {
	where, err := many(ctx, k.tx, scanText, heldRequests, k.agent.ID, k.now)
	if err != nil {
		return err
	}
	more, err := many(ctx, k.tx, scanText, heldBatches, k.agent.ID)
	if err != nil {
		return err
	}
	where = append(where, more...)
	slices.Sort(where)
	where = slices.Compact(where)
	for _, id := range where {
		c, err := k.lock(ctx, fika.ConversationID(id))
		if err != nil {
			return err
		}
		said, err := k.noteFull(ctx, c, k.agent.ID, k.agent.Name, f)
		if err != nil {
			return err
		}
		k.noticed = append(k.noticed, said...)
	}
	if len(where) == 0 || ms(k.agent.HeldUntil) == f.until && k.agent.HeldReason == f.limit {
		k.wrote = k.wrote || len(k.noticed) > 0
		return nil
	}
	k.wrote = true
	return k.holdAgent(ctx, k.agent.ID, f)
}

// unhold takes back what was noted of an hour that has passed, or of a limit
// that is higher now.
func (k *claim) unhold(ctx context.Context) error {
	if k.agent.HeldUntil.IsZero() {
		return nil
	}
	k.wrote = true
	return k.holdAgent(ctx, k.agent.ID, full{})
}

// noteFull posts the notice that an agent's hour is used up, once an hour and
// conversation.
func (t *tx) noteFull(ctx context.Context, c fika.Conversation, id fika.AgentID, name fika.AgentName, f full) ([]fika.Entry, error) {
	return t.noteOnce(ctx, c, noticeID("hour", string(id), fmt.Sprint(f.until)), "", f.text(name), reasonLimit)
}

func (t *tx) holdAgent(ctx context.Context, id fika.AgentID, f full) error {
	_, err := t.exec(ctx, `UPDATE agents SET held_until = ?, held_reason = ? WHERE id = ?`, f.until, f.limit, id)
	return err
}

// room refuses to begin at once what the agent's hour has no room for.
func (k *claim) room(ctx context.Context, op string) error {
	f, err := hourFull(ctx, k.tx, k.agent.ID, k.limits, k.now)
	if err == nil && f != nil {
		err = fika.Errorf(fika.Limit, op, "%s has used up its %s; the next begins at %s UTC", k.agent.Name, f.limit, at(f.until).Format("15:04"))
	}
	return err
}
