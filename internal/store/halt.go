package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"fika"
)

// The limits of a chain, as chains.limit_hit and [Finish] name them.
const (
	limitDepth  = "depth"
	limitTurns  = "turns"
	limitTokens = "tokens"
	limitCost   = "cost"
	limitAge    = "time"
	limitEcho   = "echo"
)

// halt is a chain that comes to a limit.
type halt struct {
	conv  fika.Conversation // where it stops
	chain fika.RequestID
	limit string
	why   string // as in "has come to its limit of 200 turns"
	on    string // the command that goes on
}

// haltOf words a limit for a person. on is how to go on from there; empty:
// with the conversation.
func haltOf(c fika.Conversation, chain fika.RequestID, limit string, l Limits, on string) halt {
	var what string
	switch limit {
	case limitTurns:
		what = counted(int64(l.MaxTurns), "turn")
	case limitTokens:
		what = counted(l.MaxTokens, "token")
	case limitCost:
		what = fmt.Sprintf("$%.2f", float64(l.MaxCost)/1e6)
	case limitAge:
		what = duration(l.MaxAge)
	case limitDepth:
		what = counted(int64(l.MaxDepth), "answer") + " in a row"
	}
	if on == "" {
		on = fmt.Sprintf("fika chat continue %s", c.Name)
	}
	return halt{conv: c, chain: chain, limit: limit, why: "has come to its limit of " + what, on: on}
}

// echoing is the halt of two agents that only repeat themselves.
func echoing(r turn, names []fika.AgentName, l Limits) halt {
	h := haltOf(r.conv, r.chain, limitEcho, l, "")
	peer := fika.AgentName("")
	if len(names) > 0 {
		peer = names[0]
	}
	h.why = fmt.Sprintf("only repeats itself (%d messages of @%s and @%s without anything new)", l.MaxEcho, r.agentName, peer)
	return h
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// duration leaves out what is nought at the end: 6h, not 6h0m0s.
func duration(d time.Duration) string {
	switch {
	case d > 0 && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d > 0 && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// text is what is said where the chain stops.
func (h halt) text() string {
	return "this chain of messages " + h.why + " and stops here; " + h.on + " goes on"
}

// away is what is said where the chain began, if that is elsewhere.
func (h halt) away(origin fika.Conversation) string {
	return fmt.Sprintf("a chain of messages that began here %s and has stopped in %s; fika chat continue %s goes on", h.why, h.conv.Name, origin.Name)
}

// id is the same for a chain and a limit, so that each notice is posted once
// in a conversation.
func (h halt) id() fika.EntryID { return noticeID("limit", string(h.chain), h.limit, h.why) }

func noticeID(kind string, parts ...string) fika.EntryID {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write([]byte(p))
		sum.Write([]byte{0})
	}
	return fika.EntryID(kind + "-" + hex.EncodeToString(sum.Sum(nil)[:16]))
}

// halt posts the notice of a limit where the chain stops, and where it began.
// What was said before is not said again; what is said where it stops is
// returned.
func (t *tx) halt(ctx context.Context, h halt) ([]fika.Entry, error) {
	began, _, err := one(ctx, t, scanText, `SELECT conversation FROM chains WHERE root = ?`, h.chain)
	if err != nil {
		return nil, err
	}
	t.putLast(`UPDATE chains SET limit_hit = CASE WHEN limit_hit = '' THEN ? ELSE limit_hit END WHERE root = ?`, h.limit, h.chain)
	out, err := t.noteOnce(ctx, h.conv, h.id(), h.chain, h.text(), reasonLimit)
	if err != nil || began == "" || began == string(h.conv.ID) {
		return out, err
	}
	origin, err := t.lock(ctx, fika.ConversationID(began))
	if fika.IsKind(err, fika.NotFound) { // deleted since
		return out, nil
	}
	if err != nil {
		return out, err
	}
	_, err = t.noteOnce(ctx, origin, h.id(), h.chain, h.away(origin), reasonLimit)
	return out, err
}

// noteOnce posts a notice with an id of its own, unless it is there.
func (t *tx) noteOnce(ctx context.Context, c fika.Conversation, id fika.EntryID, chain fika.RequestID, text, kind string) ([]fika.Entry, error) {
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

// dropForLimit puts away the notifications that a chain's limit forbids.
func (k *claim) dropForLimit(ctx context.Context, c fika.Conversation, chain fika.RequestID, limit string) error {
	said, err := k.halt(ctx, haltOf(c, chain, limit, k.limits.Of(c.Limits), ""))
	if err != nil {
		return err
	}
	k.noticed = append(k.noticed, said...)
	_, err = k.exec(ctx, `UPDATE notifications SET state = 'dropped', reason = 'limit'
WHERE agent = ? AND conversation = ? AND state = 'pending' AND chain = ?`, k.agent.ID, c.ID, chain)
	return err
}

// refuse ends a request that its chain's limit does not allow.
func (k *claim) refuse(ctx context.Context, r fika.Request, c fika.Conversation, limit string) error {
	tr, err := k.lockTurn(ctx, r.ID)
	if err != nil {
		return err
	}
	h := haltOf(c, r.Chain, limit, k.limits.Of(c.Limits), tr.goesOn())
	said, err := k.halt(ctx, h)
	if err != nil {
		return err
	}
	k.noticed = append(k.noticed, said...)
	if err := k.dropCovered(ctx, tr); err != nil {
		return err
	}
	_, err = k.end(ctx, tr, ending{state: fika.RequestFailed, reason: reasonLimit, outcome: fika.Outcome{
		Error: h.text(), ErrorKind: fika.Limit,
	}})
	return err
}

// halted posts the notice of the limit that ends a turn before its answer, and
// drops what it was told of.
func (t *tx) halted(ctx context.Context, r turn, fin Finish) ([]fika.Entry, error) {
	if fin.Limit == "" {
		return nil, nil
	}
	said, err := t.halt(ctx, haltOf(r.conv, r.chain, fin.Limit, fin.Limits.Of(r.conv.Limits), r.goesOn()))
	if err != nil {
		return nil, err
	}
	return said, t.dropCovered(ctx, r)
}

// dropCovered leaves the notifications of a batch as those that a limit has
// stopped, so that continuing finds them.
func (t *tx) dropCovered(ctx context.Context, r turn) error {
	if r.kind != fika.NotifyRequest {
		return nil // it merely covered them: they wait for another turn
	}
	_, err := t.exec(ctx, `UPDATE notifications SET state = 'dropped', reason = 'limit' WHERE request = ? AND request <> '' AND state = 'claimed'`, r.id)
	return err
}

// goesOn is the command with which a person goes on after a limit.
func (r turn) goesOn() string {
	switch r.kind {
	case fika.NotifyRequest:
		return "" // with the conversation
	case fika.RunRequest:
		return "fika run --continue"
	}
	return "fika request retry " + string(r.id)
}

// Exceeded reads, between two steps of a running turn, whether its chain or
// its agent's hour is used up. If it is the hour, the agent is noted as
// held, with one notice; not for a foreground request, whose person is there.
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
	l = l.Of(r.conv.Limits)
	c, _, err := one(ctx, s.r, scanChain, selectChain, r.chain)
	if err != nil {
		return Exceeded{}, s.explain(op, err)
	}
	if limit := spent(c, l, s.nowMS()); limit != "" {
		return Exceeded{Chain: limit, Reason: haltOf(r.conv, r.chain, limit, l, r.goesOn()).text()}, nil
	}
	l.HourTurns = 0 // this turn is one of them
	full, err := hourFull(ctx, s.r, r.agent, l, s.nowMS())
	if err != nil || full == nil {
		return Exceeded{}, s.explain(op, err)
	}
	if r.origin == fika.Foreground {
		return Exceeded{Until: at(full.until), Reason: fmt.Sprintf("%s has used up its %s; %s goes on after %s UTC",
			r.agentName, full.limit, r.goesOn(), at(full.until).Format("15:04"))}, nil
	}
	err = s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		// The agent is locked before its request is.
		if _, err := t.lockAgent(ctx, r.agent); err != nil {
			return err
		}
		r, held, err := one(ctx, t, t.scanLockedTurn, selectTurn+fencedTurn+` FOR NO KEY UPDATE OF r, c`, f.Request, f.Agent, f.Epoch, f.Lease)
		if err != nil {
			return err
		}
		if !held {
			return lostFence(op, f)
		}
		if _, err := t.noteFull(ctx, r.conv, r.agent, r.agentName, *full); err != nil {
			return err
		}
		return t.holdAgent(ctx, r.agent, *full)
	})
	return Exceeded{Until: at(full.until), Reason: full.text(r.agentName)}, err
}

// SetLimits stores the limits that hold in one conversation, whoever takes
// part. They count from the next turn on.
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
		n, err := t.exec(ctx, `UPDATE conversations SET limits = ? WHERE id = ?`, text, id)
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
