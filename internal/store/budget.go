package store

import (
	"context"
	"strings"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/system/crash"
)

// A budget is kept as an account: a row with the amount spent in a window. While a
// request runs, it has a reservation in each account that it spends from, for the
// cost of its next call. The claim makes the reservation, each commit of a call
// corrects it, and it is removed when the request stops running. A reservation counts
// only while the lease of its agent is live, so that what a killed process had set
// aside becomes available before somebody takes over.

// accountRows writes accounts and the reservations in them.
type accountRows struct{ *tx }

func accountsIn(t *tx) accountRows { return accountRows{t} }

// busyWait is how long work waits if its budget is set aside for calls under way.
const busyWait = 2 * time.Second

// grant is the amount that a request may reserve, and the accounts to reserve it in.
type grant struct {
	accounts []limit.Applied
	need     limit.Amount
}

// spenderFacts selects the facts about a spender that a claim or a turn has not
// already read.
const spenderFacts = `SELECT a.home_id, COALESCE(ch.person, ''), COALESCE(ch.conversation, ''), COALESCE(c.name, ''), COALESCE(p.id, ''), COALESCE(p.name, '')
FROM agents a LEFT JOIN agents p ON p.id = a.pool AND a.pool <> '' LEFT JOIN chains ch ON ch.root = ? LEFT JOIN conversations c ON c.id = ch.conversation WHERE a.id = ?`

// completeSpender fills in the missing facts about a spender.
func completeSpender(ctx context.Context, q querier, s *limit.Spender) error {
	_, _, err := one(ctx, q, func(row scanner) (struct{}, error) {
		return struct{}{}, row.Scan(&s.Home, &s.Person, &s.Began, &s.BeganName, &s.Pool, &s.PoolName)
	}, spenderFacts, s.Chain, s.Agent)
	return err
}

// spender returns the spender that makes the calls of a turn.
func (r turn) spender() limit.Spender {
	return limit.Spender{Agent: r.agent, AgentName: r.agentName, Chat: r.conv.ID, ChatName: r.conv.Name, Chain: r.chain}
}

// mayReserve decides whether the next call of a request fits into all budgets that
// hold for its spender, and leaves their accounts locked. id is empty for a request
// that is not stored yet. The error is that of [limit.Budgets.Call].
func (t accountRows) mayReserve(ctx context.Context, b limit.Budgets, s limit.Spender, id fika.RequestID, model string) (g grant, r *limit.Refusal, err error) {
	if len(b.List) == 0 {
		return g, nil, nil
	}
	if err := completeSpender(ctx, t.tx, &s); err != nil {
		return g, nil, err
	}
	g.accounts = b.HoldingFor(s, at(t.now))
	if len(g.accounts) == 0 {
		return g, nil, nil
	}
	if b.Call != nil {
		if g.need, err = b.Call(model, limit.LimitsMoney(g.accounts)); err != nil {
			return g, nil, err
		}
	}
	// A call is assumed to cost at least as much as the dearest so far of the same
	// turn.
	had, _, err := one(ctx, t.tx, scanAmount, `SELECT COALESCE(max(money), 0), COALESCE(max(tokens), 0) FROM reservations WHERE request = ?`, id)
	if err != nil {
		return g, nil, err
	}
	g.need = g.need.Max(had)
	balances, err := t.lockAccounts(ctx, g.accounts, s, id)
	if err != nil {
		return g, nil, err
	}
	for i, a := range g.accounts {
		verdict := a.Verdict(balances[i], g.need)
		if verdict == nil && a.Money > 0 && b.Guest != "" {
			unknown, err := t.costsUnknown(ctx, a, s, b.Guest)
			if err != nil {
				return g, nil, err
			}
			if unknown {
				verdict = &limit.Refusal{Applied: a, Need: g.need, Balance: balances[i], Full: true, Unknown: s.AgentName}
			}
		}
		r = limit.WorseRefusal(r, verdict)
	}
	return g, r, nil
}

// costsUnknown reports whether a guest has made a turn, in the window of an account, of
// which nobody knows what it cost.
func (t accountRows) costsUnknown(ctx context.Context, a limit.Applied, s limit.Spender, model string) (bool, error) {
	from, args := inLedger(a.Scope, a.Owner, a.Begin, s)
	_, unknown, err := one(ctx, t.tx, scanText, `SELECT u.request `+from+` AND u.agent = ? AND u.model = ? AND u.cost = 0 LIMIT 1`, append(args, s.Agent, model)...)
	return unknown, err
}

func scanAmount(s scanner) (a limit.Amount, err error) {
	err = s.Scan(&a.Money, &a.Tokens)
	return a, err
}

const (
	selectAccount = `SELECT b.money, b.tokens FROM budgets b WHERE b.owner = ? AND b.per = ? AND b.begins = ?`
	// reservedIn sums the live reservations of all requests but one.
	reservedIn = `SELECT COALESCE(sum(v.money), 0), COALESCE(sum(v.tokens), 0) FROM reservations v
JOIN requests r ON r.id = v.request JOIN agents a ON a.id = r.agent
WHERE v.owner = ? AND v.per = ? AND v.begins = ? AND v.request <> ? AND r.state = 'running' AND a.lease_until > ?`
)

// lockAccounts locks accounts, which are sorted by owner, and reads their balances as
// they stand for a request that wants to reserve.
func (t accountRows) lockAccounts(ctx context.Context, list []limit.Applied, s limit.Spender, id fika.RequestID) ([]limit.Balance, error) {
	out := make([]limit.Balance, len(list))
	there := make([]bool, len(list))
	lock := func() error {
		var all []statement
		for i, a := range list {
			all = append(all, first(&out[i].Spent, &there[i], scanAmount, selectAccount+lockRow, a.Owner, a.Account.Per, a.Begin))
		}
		// Reservations are read once all accounts are locked: others could have
		// reserved after an earlier statement read them.
		for i, a := range list {
			if !crash.Without(crash.Reserve) {
				all = append(all, first(&out[i].Reserved, nil, scanAmount, reservedIn, a.Owner, a.Account.Per, a.Begin, id, t.now))
			}
		}
		return t.run(ctx, all...)
	}
	if err := lock(); err != nil {
		return nil, err
	}
	opened := false
	for i, a := range list {
		if !there[i] {
			opened = true
			if err := t.openAccount(ctx, a, s); err != nil {
				return nil, err
			}
		}
	}
	if opened {
		return out, lock()
	}
	return out, nil
}

// openAccount creates the account of a window, with the amount that the ledger says
// was spent in it.
func (t accountRows) openAccount(ctx context.Context, a limit.Applied, s limit.Spender) error {
	from, args := inLedger(a.Scope, a.Owner, a.Begin, s)
	return t.put(ctx, `INSERT INTO budgets (owner, per, begins, scope, money, tokens) SELECT ?, ?, ?, ?, COALESCE(sum(u.cost), 0), COALESCE(sum(u.input + u.output), 0) `+from+` ON CONFLICT DO NOTHING`,
		append([]any{a.Owner, a.Account.Per, a.Begin, a.Scope}, args...)...)
}

// inLedger returns the clause that selects from the ledger what an account's owner
// has spent since a time.
func inLedger(scope, owner string, since int64, s limit.Spender) (from string, args []any) {
	const turns = `FROM usage u JOIN requests r ON r.id = u.request `
	switch kind, _, _ := limit.ParseScope(scope); kind {
	case limit.ScopeAgent:
		id := strings.TrimPrefix(owner, limit.ScopeAgent+":") // a pool has spent what its members have
		return `FROM usage u WHERE u.at >= ? AND u.agent IN (SELECT a.id FROM agents a WHERE a.id = ? OR (a.pool = ? AND a.pool <> ''))`, []any{since, id, id}
	case limit.ScopeUser:
		return turns + `JOIN chains ch ON ch.root = r.chain WHERE u.at >= ? AND ch.person = ?`, []any{since, s.Person}
	case limit.ScopeChat:
		return turns + `JOIN chains ch ON ch.root = r.chain WHERE u.at >= ? AND ? IN (r.conversation, ch.conversation)`, []any{since, strings.TrimPrefix(owner, limit.ScopeChat+":")}
	case limit.ScopeChain:
		return turns + `WHERE u.at >= ? AND r.chain = ?`, []any{since, s.Chain}
	}
	return `FROM usage u WHERE u.at >= ? AND NOT EXISTS (SELECT 1 FROM agents o WHERE o.id = u.agent AND o.home_id <> ?)`, []any{since, s.Home}
}

// reserve sets aside the amount granted to a request, in place of its earlier
// reservations.
func (t accountRows) reserve(ctx context.Context, id fika.RequestID, g grant) error {
	if len(g.accounts) == 0 {
		return nil
	}
	list := []statement{{text: `DELETE FROM reservations WHERE request = ?`, args: []any{id}}}
	for _, a := range g.accounts {
		list = append(list, statement{
			text: `INSERT INTO reservations (request, owner, per, begins, money, tokens) VALUES (?, ?, ?, ?, ?, ?)`,
			args: []any{id, a.Owner, a.Account.Per, a.Begin, g.need.Money, g.need.Tokens},
		})
	}
	return t.add(ctx, list...)
}

// booking is what a transaction adds to the accounts of a request.
type booking struct {
	used    limit.Amount
	release bool
}

// release removes the reservations of a request that no longer runs.
func (t accountRows) release(ctx context.Context, r turn) error {
	if !r.reserved {
		return nil
	}
	if t.booking.used != (limit.Amount{}) {
		t.booking.release = true // book still finds the accounts by them
		return nil
	}
	return t.put(ctx, `DELETE FROM reservations WHERE request = ?`, r.id)
}

// ofRequest selects the accounts in which a request has reservations.
const ofRequest = ` WHERE (b.owner, b.per, b.begins) IN (SELECT v.owner, v.per, v.begins FROM reservations v WHERE v.request = ?)`

// book adds the cost of the calls that this transaction has recorded to the accounts
// of their request, and corrects the reservation for the next call. It is the last
// thing that a transaction does, because others wait for these rows.
func (t accountRows) book(ctx context.Context, r turn) ([]limit.Booked, error) {
	b := t.booking
	t.booking = booking{}
	if b.used == (limit.Amount{}) {
		return nil, nil
	}
	var out []limit.Booked
	var locked []string
	list := append(t.last, // the chain is locked first
		all(&locked, scanText, `SELECT b.owner FROM budgets b`+ofRequest+` ORDER BY b.owner, b.per`+lockRow, r.id),
		all(&out, func(s scanner) (k limit.Booked, err error) {
			k.Used = b.used
			err = s.Scan(&k.Scope, &k.Per, &k.Spent.Money, &k.Spent.Tokens)
			return k, err
		}, `UPDATE budgets AS b SET money = money + ?, tokens = tokens + ?`+ofRequest+` RETURNING scope, per, money, tokens`, b.used.Money, b.used.Tokens, r.id))
	t.last = nil
	if b.release {
		list = append(list, statement{text: `DELETE FROM reservations WHERE request = ?`, args: []any{r.id}})
	} else {
		list = append(list, statement{
			text: `UPDATE reservations SET money = CASE WHEN money < ? THEN ? ELSE money END, tokens = CASE WHEN tokens < ? THEN ? ELSE tokens END WHERE request = ?`,
			args: []any{b.used.Money, b.used.Money, b.used.Tokens, b.used.Tokens, r.id},
		})
	}
	return out, t.run(ctx, list...)
}
