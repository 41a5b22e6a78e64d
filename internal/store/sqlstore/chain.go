package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"fika"
	"fika/internal/store"
)

// The reasons notifications are dropped for.
const (
	reasonLimit   = "limit"
	reasonStopped = "stopped"
	reasonExpired = "expired"
)

// chainFor decides which chain something new belongs to: the named one with
// the given depth if fika knows it, else a new one rooted at root with depth
// 0. A row for a new chain is made when one is needed.
func (t *tx) chainFor(ctx context.Context, chain fika.RequestID, depth int, root fika.RequestID, needed bool) (fika.RequestID, int, error) {
	if chain != "" {
		_, known, err := one(ctx, t, scanText, `SELECT root FROM chains WHERE root = ?`, chain)
		if err != nil || known {
			return chain, max(depth, 0), err
		}
	}
	if !needed {
		return root, 0, nil
	}
	_, err := t.exec(ctx, `INSERT INTO chains (root, started_at) VALUES (?, ?) ON CONFLICT DO NOTHING`, root, t.now)
	return root, 0, err
}

func scanChain(s scanner) (fika.Chain, error) {
	var c fika.Chain
	var started int64
	err := s.Scan(&c.Root, &c.Turns, &c.Tokens, &c.Cost, &started, &c.LimitHit)
	c.StartedAt = at(started)
	return c, err
}

const selectChain = `SELECT root, turns, tokens, cost, started_at, limit_hit FROM chains WHERE root = ?`

// Chain reads the counters of a chain.
func (s *Store) Chain(ctx context.Context, root fika.RequestID) (fika.Chain, error) {
	c, ok, err := one(ctx, s.r, scanChain, selectChain, root)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, "read chain", "no chain %q", root)
	}
	return c, s.explain("read chain", err)
}

// enterChain counts one more turn, or names the limit that forbids it.
func (t *tx) enterChain(ctx context.Context, root fika.RequestID, l store.Limits) (limit string, err error) {
	c, ok, err := one(ctx, t, scanChain, selectChain+lockRow, root)
	if err != nil {
		return "", err
	}
	if !ok {
		_, err = t.exec(ctx, `INSERT INTO chains (root, turns, started_at) VALUES (?, 1, ?)`, root, t.now)
		return "", err
	}
	if limit := limitReached(c, l, t.now); limit != "" {
		return limit, nil
	}
	_, err = t.exec(ctx, `UPDATE chains SET turns = turns + 1 WHERE root = ?`, root)
	return "", err
}

// limitReached names the bound that a chain has come to; "" for none.
func limitReached(c fika.Chain, l store.Limits, now int64) string {
	switch {
	case l.MaxTurns > 0 && c.Turns >= l.MaxTurns:
		return "turns"
	case l.MaxTokens > 0 && c.Tokens >= l.MaxTokens:
		return "tokens"
	case l.MaxCost > 0 && c.Cost >= l.MaxCost:
		return "cost"
	case l.MaxAge > 0 && now-ms(c.StartedAt) >= l.MaxAge.Milliseconds():
		return "age"
	}
	return ""
}

// noteLimit posts the notice of a limit, once per chain and limit; nil when it
// was posted before.
func (t *tx) noteLimit(ctx context.Context, c fika.Conversation, root fika.RequestID, limit string, l store.Limits) (*fika.Entry, error) {
	if _, err := t.exec(ctx, `UPDATE chains SET limit_hit = ? WHERE root = ? AND limit_hit = ''`, limit, root); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(string(root) + "\x00" + limit))
	id := fika.EntryID("limit-" + hex.EncodeToString(sum[:16]))
	_, known, err := one(ctx, t, scanText, `SELECT id FROM entries WHERE conversation = ? AND id = ?`, c.ID, id)
	if err != nil || known {
		return nil, err
	}
	e := t.notice(c, limitText(c, limit, l), "limit")
	e.ID, e.Chain = id, root
	return &e, t.append(ctx, &e)
}

func limitText(c fika.Conversation, limit string, l store.Limits) string {
	var what string
	switch limit {
	case "turns":
		what = fmt.Sprintf("%d turns", l.MaxTurns)
	case "tokens":
		what = fmt.Sprintf("%d tokens", l.MaxTokens)
	case "cost":
		what = fmt.Sprintf("$%.2f", float64(l.MaxCost)/1e6)
	case "age":
		what = l.MaxAge.String()
	case "depth":
		what = fmt.Sprintf("%d answers in a row", l.MaxDepth)
	}
	text := "this chain of messages has come to its limit of " + what + " and stops here"
	if c.Kind == fika.Chat {
		text += fmt.Sprintf("; fika chat continue %s goes on", c.Name)
	}
	return text
}

// notice is something fika itself says in a conversation; not yet stored.
func (t *tx) notice(c fika.Conversation, text, kind string) fika.Entry {
	return fika.Entry{
		Conversation: c.ID, From: "system", To: string(c.Name), Content: text, Type: fika.Notice,
		Meta: fika.EntryMeta{Writer: fika.BySystem, Kind: kind},
	}
}

// spend adds what a model call used to the ledger and to its chain.
func (t *tx) spend(ctx context.Context, r turn, n int, model string, u fika.Usage) error {
	if u == (fika.Usage{}) {
		return nil
	}
	_, err := t.exec(ctx, `INSERT INTO usage (request, n, agent, model, input, output, cached, reasoning, cost, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.id, n, r.agent, model, u.Input, u.Output, u.Cached, u.Reasoning, u.Cost, t.now)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `UPDATE chains SET tokens = tokens + ?, cost = cost + ? WHERE root = ?`, u.Input+u.Output, u.Cost, r.chain)
	return err
}
