package store

import (
	"context"
	"encoding/json"
	"time"

	"fika"
	"fika/internal/rights/limit"
)

// Limits is short for [limit.Limits].
type Limits = limit.Limits

// Exceeded says what a turn has used up, as seen between two of its steps.
type Exceeded struct {
	Chain  string    // the limit of its chain; empty: none
	Until  time.Time // when the agent's next hour begins or a budget may have room; zero: waiting does not help
	Reason string    // for a person; empty: nothing is used up
	Kind   fika.Kind // of the error that ends the turn, if waiting does not help
}

// ChainInfo is a chain as seen from one conversation.
type ChainInfo struct {
	fika.Chain
	Depth   int  // of its newest message there
	Current bool // something waits or runs
	Stopped int  // number of mentions that a limit has stopped
}

// limitRows writes the limits that were reached, and their notices, once each.
type limitRows struct{ *tx }

func limitsIn(t *tx) limitRows { return limitRows{t} }

// recordLimit posts the notice that a chain has reached a limit, both in conversation
// c, where it stops, and where it began. A notice that is already there is not
// repeated. recordLimit returns the notice posted where the chain stops.
func (t limitRows) recordLimit(ctx context.Context, c fika.Conversation, r limit.Reached) ([]fika.Entry, error) {
	began, _, err := one(ctx, t, scanText, `SELECT conversation FROM chains WHERE root = ?`, r.Chain)
	if err != nil {
		return nil, err
	}
	t.putLast(`UPDATE chains SET limit_hit = CASE WHEN limit_hit = '' THEN ? ELSE limit_hit END WHERE root = ?`, r.Limit, r.Chain)
	out, err := t.noteOnce(ctx, c, r.NoticeID(), r.Chain, r.Notice(), reasonLimit)
	if err != nil || began == "" || began == string(c.ID) {
		return out, err
	}
	origin, err := conversationsIn(t.tx).lock(ctx, fika.ConversationID(began))
	if fika.IsKind(err, fika.NotFound) { // deleted in the meantime
		return out, nil
	}
	if err != nil {
		return out, err
	}
	_, err = t.noteOnce(ctx, origin, r.NoticeID(), r.Chain, r.NoticeElsewhere(origin.Name), reasonLimit)
	return out, err
}

// noteOnce posts a notice with the given id, unless that is already there.
func (t limitRows) noteOnce(ctx context.Context, c fika.Conversation, id fika.EntryID, chain fika.RequestID, text, kind string) ([]fika.Entry, error) {
	_, known, err := one(ctx, t, scanText, `SELECT id FROM entries WHERE conversation = ? AND id = ?`, c.ID, id)
	if err != nil || known {
		return nil, err
	}
	e := t.notice(c, text, kind)
	e.ID, e.Chain = id, chain
	if err := t.append(ctx, &e); err != nil {
		return nil, err
	}
	return []fika.Entry{e}, nil
}

// dropForLimit drops the notifications that a chain's limit forbids and posts the
// notice.
func (k *claim) dropForLimit(ctx context.Context, c fika.Conversation, chain fika.RequestID, name string) error {
	said, err := limitsIn(k.tx).recordLimit(ctx, c, limit.Reached{Chain: chain, Limit: name, Limits: k.limits.HoldingIn(c.Limits), Where: c.Name})
	if err != nil {
		return err
	}
	k.noticed = append(k.noticed, said...)
	return k.dropPending(ctx, c, chain)
}

// dropPending drops the pending notifications of the agent in a conversation that
// belong to one chain, with the reason "limit".
func (k *claim) dropPending(ctx context.Context, c fika.Conversation, chain fika.RequestID) error {
	_, err := k.exec(ctx, `UPDATE notifications SET state = 'dropped', reason = 'limit'
WHERE agent = ? AND conversation = ? AND state = 'pending' AND chain = ?`, k.agent.ID, c.ID, chain)
	return err
}

// refuse ends a request that its chain's limit does not allow.
func (k *claim) refuse(ctx context.Context, r fika.Request, c fika.Conversation, name string) error {
	tr, err := k.lockTurn(ctx, r.ID)
	if err != nil {
		return err
	}
	reached := tr.reached(name, k.limits)
	said, err := limitsIn(k.tx).recordLimit(ctx, c, reached)
	if err != nil {
		return err
	}
	k.noticed = append(k.noticed, said...)
	if err := limitsIn(k.tx).dropCovered(ctx, tr); err != nil {
		return err
	}
	_, err = k.end(ctx, tr, ending{state: fika.RequestFailed, reason: reasonLimit, outcome: fika.Outcome{
		Error: reached.Notice(), ErrorKind: fika.Limit,
	}})
	return err
}

// recordOwnLimit posts the notice of the limit that ends a turn before its answer,
// and drops the notifications of the turn.
func (t limitRows) recordOwnLimit(ctx context.Context, r turn, fin Finish) ([]fika.Entry, error) {
	if fin.Limit == "" {
		return nil, nil
	}
	said, err := t.recordLimit(ctx, r.conv, r.reached(fin.Limit, fin.Limits))
	if err != nil {
		return nil, err
	}
	return said, t.dropCovered(ctx, r)
}

// reached describes the limit that ends a turn.
func (r turn) reached(name string, l Limits) limit.Reached {
	return limit.Reached{
		Chain: r.chain, Limit: name, Limits: l.HoldingIn(r.conv.Limits), Where: r.conv.Name, Command: limit.ContinueCommand(r.kind, r.id),
	}
}

// dropCovered drops the notifications of a batch with the reason "limit", so that
// continuing the chain finds them.
func (t limitRows) dropCovered(ctx context.Context, r turn) error {
	if r.kind != fika.NotifyRequest {
		return nil // the request merely covered them: they wait for another turn
	}
	_, err := t.exec(ctx, `UPDATE notifications SET state = 'dropped', reason = 'limit' WHERE request = ? AND request <> '' AND state = 'claimed'`, r.id)
	return err
}

// Exceeded reads, between two steps of a running turn, whether its chain, a budget or
// its agent's hour is used up. If the budgets have room, it reserves the next call.
// If the hour is used up, it records the agent as held and posts one notice, except
// for a foreground request, whose person is present.
func (s Turns) Exceeded(ctx context.Context, f Fence, l Limits) (Exceeded, error) {
	const op = "read limits"
	r, ok, err := one(ctx, s.r, scanTurn, selectTurn+fencedTurn,
		f.Request, f.Agent, f.Epoch, f.Lease)
	if err != nil {
		return Exceeded{}, s.explain(op, err)
	}
	if !ok {
		return Exceeded{}, lostFence(op, f)
	}
	l = l.HoldingIn(r.conv.Limits)
	c, _, err := one(ctx, s.r, scanChain, selectChain, r.chain)
	if err != nil {
		return Exceeded{}, s.explain(op, err)
	}
	if name := l.Spent(c, at(s.nowMS())); name != "" {
		return Exceeded{Chain: name, Reason: r.reached(name, l).Notice()}, nil
	}
	if x, err := s.exceedsBudget(ctx, f, r, l); err != nil || x.Reason != "" {
		return x, s.explain(op, err)
	}
	l.HourTurns = 0 // this turn is already counted
	quota, err := quotaExceeded(ctx, s.r, r.agent, l, s.nowMS())
	if err != nil || quota == nil {
		return Exceeded{}, s.explain(op, err)
	}
	if r.origin == fika.Foreground {
		return Exceeded{Until: quota.Until, Reason: quota.LaterHint(r.agentName, limit.ContinueCommand(r.kind, r.id))}, nil
	}
	err = s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		// The agent is locked before its request.
		if _, err := agentsIn(t).lockAgent(ctx, r.agent); err != nil {
			return err
		}
		r, held, err := one(ctx, t, t.scanLockedTurn, selectTurn+fencedTurn+` FOR NO KEY UPDATE OF r, c`, f.Request, f.Agent, f.Epoch, f.Lease)
		if err != nil {
			return err
		}
		if !held {
			return lostFence(op, f)
		}
		if _, err := limitsIn(t).postQuotaNotice(ctx, r.conv, r.agent, r.agentName, *quota); err != nil {
			return err
		}
		return limitsIn(t).setHeld(ctx, r.agent, *quota)
	})
	return Exceeded{Until: quota.Until, Reason: quota.Notice(r.agentName)}, err
}

// SetLimits stores the limits that hold in one conversation, whoever takes part. They
// apply from the next turn on. SetLimits fails with NotFound.
func (s Ledger) SetLimits(ctx context.Context, id fika.ConversationID, l fika.ChainLimits) error {
	const op = "set limits"
	text := ""
	if l != (fika.ChainLimits{}) {
		var err error
		if text, err = toJSON(op, l); err != nil {
			return err
		}
	}
	return s.write(ctx, op, func(ctx context.Context, t *tx) error {
		n, err := t.tellConversations(ctx, "", `UPDATE conversations SET limits = ? WHERE id = ?`, text, id)
		if err == nil && n == 0 {
			err = fika.Errorf(fika.NotFound, op, "no conversation with id %q", id)
		}
		return err
	})
}

// chainLimits scans the limits column.
type chainLimits struct{ to *fika.ChainLimits }

// Scan implements sql.Scanner.
func (c chainLimits) Scan(v any) error {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case []byte:
		text = string(v)
	}
	*c.to = fika.ChainLimits{}
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), c.to); err != nil {
		return fika.Errorf(fika.Storage, "read conversation", "its limits cannot be read: %v", err)
	}
	return nil
}
