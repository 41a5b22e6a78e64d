package store

import (
	"context"
	"strings"

	"fika"
	"fika/internal/rights/limit"
)

// The reasons for which notifications are dropped.
const (
	reasonLimit   = "limit"
	reasonStopped = "stopped"
	reasonExpired = "expired"
)

// chainRows writes chains and what they have used.
type chainRows struct{ *tx }

func chainsIn(t *tx) chainRows { return chainRows{t} }

// chainFor decides to which chain something new in conversation c belongs: the named
// one with the given depth if fika knows it, else a new one rooted at root with depth
// 0 and started by person. It inserts a row for a new chain if needed is set.
func (t chainRows) chainFor(ctx context.Context, c fika.ConversationID, chain fika.RequestID, depth int, root fika.RequestID, person string, needed bool) (fika.RequestID, int, error) {
	if chain != "" {
		_, known, err := one(ctx, t, scanText, `SELECT root FROM chains WHERE root = ?`, chain)
		if err != nil {
			return "", 0, err
		}
		if !known {
			chain = ""
		}
	}
	return t.chainOf(ctx, c, chain, depth, root, person, needed)
}

// chainOf is chainFor for a chain that is known to exist, or for none.
func (t chainRows) chainOf(ctx context.Context, c fika.ConversationID, chain fika.RequestID, depth int, root fika.RequestID, person string, needed bool) (fika.RequestID, int, error) {
	if chain != "" {
		return chain, max(depth, 0), nil
	}
	if !needed {
		return root, 0, nil
	}
	return root, 0, t.put(ctx, `INSERT INTO chains (root, conversation, started_at, person) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, root, c, t.now, person)
}

// personOf returns the person who starts a chain with a writer's words; "" if the
// writer is not a person.
func personOf(from string, writer fika.Writer) string {
	switch {
	case writer == fika.ByAgent || writer == fika.ByTool || writer == fika.BySystem:
		return ""
	case from == "":
		return "user"
	}
	return from
}

func scanChain(s scanner) (fika.Chain, error) {
	var c fika.Chain
	var started int64
	err := s.Scan(&c.Root, &c.Turns, &c.Tokens, &c.Cost, &started, &c.LimitHit, &c.Conversation)
	c.StartedAt = at(started)
	return c, err
}

const selectChain = `SELECT root, turns, tokens, cost, started_at, limit_hit, conversation FROM chains WHERE root = ?`

// Chain reads the counters of a chain. It fails with NotFound.
func (s Ledger) Chain(ctx context.Context, root fika.RequestID) (fika.Chain, error) {
	c, ok, err := one(ctx, s.r, scanChain, selectChain, root)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, "read chain", "no chain %q", root)
	}
	return c, s.explain("read chain", err)
}

const (
	currentChains = `SELECT n.chain FROM notifications n WHERE n.conversation = ? AND n.` + live + ` AND n.state = 'pending'
UNION SELECT r.chain FROM requests r WHERE r.conversation = ? AND r.finished_at = 0 ORDER BY 1 DESC`
	lastChain = `SELECT r.chain FROM requests r WHERE r.conversation = ? ORDER BY r.n DESC LIMIT 1`
)

// Chains returns the chains that are active in a conversation, newest first, or, if
// none is, the latest one.
func (s Ledger) Chains(ctx context.Context, c fika.ConversationID) ([]ChainInfo, error) {
	const op = "read chains"
	roots, err := many(ctx, s.r, scanText, currentChains, c, c)
	current := len(roots) > 0
	if err == nil && !current {
		roots, err = many(ctx, s.r, scanText, lastChain, c)
	}
	if err != nil {
		return nil, s.explain(op, err)
	}
	var out []ChainInfo
	for _, root := range roots {
		i := ChainInfo{Current: current}
		var known bool
		if i.Chain, known, err = one(ctx, s.r, scanChain, selectChain, root); err != nil {
			return nil, s.explain(op, err)
		}
		if !known {
			continue
		}
		depth, _, err := one(ctx, s.r, scanInt, `SELECT depth FROM entries WHERE conversation = ? AND chain = ? AND type = 'message' ORDER BY seq DESC LIMIT 1`, c, root)
		if err != nil {
			return nil, s.explain(op, err)
		}
		stopped, _, err := one(ctx, s.r, scanInt, `SELECT count(*) FROM notifications
WHERE conversation = ? AND state = 'dropped' AND reason = 'limit' AND chain = ?`, c, root)
		if err != nil {
			return nil, s.explain(op, err)
		}
		i.Depth, i.Stopped = int(depth), int(stopped)
		out = append(out, i)
	}
	return out, nil
}

// chainRow is a locked chain, if it exists.
type chainRow struct {
	fika.Chain
	known bool
}

// locking returns the statement that locks the chain selected by root, a query.
func (c *chainRow) locking(root string, args ...any) statement {
	return first(&c.Chain, &c.known, scanChain, strings.Replace(selectChain, "?", root, 1)+lockRow, args...)
}

// chainAllows returns the name of the limit that forbids the chain one more turn in
// conversation c; "" means that none does. No limit forbids the root.
func (k *claim) chainAllows(c fika.Conversation, ch chainRow, depth int, root bool) (name string, err error) {
	if !ch.known || root {
		return "", nil
	}
	if name := k.limits.HoldingIn(c.Limits).Begin(ch.Chain, depth, at(k.now)); name != "" {
		return name, k.mayRecordLimit(c, ch.Conversation)
	}
	return "", nil
}

// enterChain counts one more turn of a chain in conversation c, and in its agent's
// hour.
func (k *claim) enterChain(ctx context.Context, c fika.Conversation, chain fika.RequestID) error {
	// A chain's time begins with its first turn: waiting for an absent agent is not
	// work.
	err := k.put(ctx, `INSERT INTO chains (root, conversation, turns, started_at) VALUES (?, ?, 1, ?)
ON CONFLICT (root) DO UPDATE SET turns = chains.turns + 1, started_at = CASE WHEN chains.turns = 0 THEN excluded.started_at ELSE chains.started_at END`,
		chain, c.ID, k.now)
	if err != nil {
		return err
	}
	return k.countTurn(ctx)
}

// mayRecordLimit restarts the transaction if the notice of a limit goes to a
// conversation that has to be locked before the chain.
func (k *claim) mayRecordLimit(c fika.Conversation, began fika.ConversationID) error {
	if !k.c.distant() || began == "" || began == c.ID || k.origin == nil || *k.origin == began {
		return nil
	}
	*k.origin = began
	return errAgain
}

// notice returns an entry, not yet stored, in which fika itself says something in a
// conversation.
func (t limitRows) notice(c fika.Conversation, text, kind string) fika.Entry {
	return fika.Entry{
		Conversation: c.ID, From: "system", To: string(c.Name), Content: text, Type: fika.Notice,
		Meta: fika.EntryMeta{Writer: fika.BySystem, Kind: kind},
	}
}

// spend adds the usage of a model call to the ledger and to the chain.
func (t chainRows) spend(ctx context.Context, r turn, n int, model string, u fika.Usage) error {
	if u == (fika.Usage{}) {
		return nil
	}
	t.putLast(`UPDATE chains SET tokens = tokens + ?, cost = cost + ? WHERE root = ?`, u.Input+u.Output, u.Cost, r.chain)
	if r.reserved {
		t.booking.used = t.booking.used.Add(limit.AmountOf(u))
	}
	return t.put(ctx, `INSERT INTO usage (request, n, agent, model, input, output, cached, reasoning, cost, at, estimated)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.id, n, r.agent, model, u.Input, u.Output, u.Cached, u.Reasoning, u.Cost, t.now, number(u.Estimated))
}
