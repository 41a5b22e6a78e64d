package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/rights/limit"
)

// UsageRow is a line of the usage report.
type UsageRow struct {
	Agent    fika.AgentName
	Model    string
	Requests int
	Usage    fika.Usage
}

// UsageSince sums the usage since a time by agent and model, sorted by both. An agent
// that no longer exists is named by its id. Unpriced is set if some call cost nothing,
// Estimated if some tokens were.
func (s Ledger) UsageSince(ctx context.Context, since time.Time) ([]UsageRow, error) {
	all, err := many(ctx, s.r, func(sc scanner) (UsageRow, error) {
		var r UsageRow
		err := sc.Scan(&r.Agent, &r.Model, &r.Requests, &r.Usage.Input, &r.Usage.Output, &r.Usage.Cached, &r.Usage.Reasoning, &r.Usage.Cost, &r.Usage.Unpriced, &r.Usage.Estimated)
		r.Usage.Subscription = fika.AsBilled(r.Model, r.Usage).Subscription
		return r, err
	}, `SELECT COALESCE(a.name, u.agent), u.model, count(DISTINCT u.request), sum(u.input), sum(u.output), sum(u.cached), sum(u.reasoning), sum(u.cost), `+costless+`, max(u.estimated) > 0
FROM usage u LEFT JOIN agents a ON a.id = u.agent WHERE u.at >= ? GROUP BY COALESCE(a.name, u.agent), u.model ORDER BY 1, 2`, ms(since))
	return all, s.explain("read usage", err)
}

// BudgetBalance is the state of a budget's account in the current window.
type BudgetBalance struct {
	limit.Applied
	limit.Balance
	Holder string // the user or chain of a budget for each of them; empty otherwise
}

// Balances returns the state of a home's budgets. A budget for each user or each
// chain has one for everyone who has spent, or was about to, in the window.
func (s Ledger) Balances(ctx context.Context, home string, b limit.Budgets) ([]BudgetBalance, error) {
	const op = "read budgets"
	var out []BudgetBalance
	for _, budget := range b.List {
		sp, err := s.namedIn(ctx, home, budget)
		if err != nil {
			return nil, s.explain(op, err)
		}
		now := s.nowMS()
		a := b.AppliedTo(budget, sp, at(now))
		kind, _, _ := limit.ParseScope(budget.Scope)
		each := kind == limit.ScopeUser || kind == limit.ScopeChain
		found, err := many(ctx, s.r, func(sc scanner) (BudgetBalance, error) {
			k := BudgetBalance{Applied: a}
			err := sc.Scan(&k.Owner, &k.Spent.Money, &k.Spent.Tokens, &k.Reserved.Money, &k.Reserved.Tokens)
			return k, err
		}, accountsOf, now, now, budget.Scope, budget.Per, a.Begin)
		if err != nil {
			return nil, s.explain(op, err)
		}
		found = slices.DeleteFunc(found, func(k BudgetBalance) bool { return !each && k.Owner != a.Owner })
		for i := range found {
			if each {
				_, found[i].Holder, _ = strings.Cut(found[i].Owner, ":")
			}
		}
		if len(found) == 0 {
			k := BudgetBalance{Applied: a}
			if !each && a.Owner != "" {
				from, args := inLedger(budget.Scope, a.Owner, a.Begin, sp)
				if k.Spent, err = s.sum(ctx, from, args); err != nil {
					return nil, s.explain(op, err)
				}
			}
			found = append(found, k)
		}
		out = append(out, found...)
	}
	return out, nil
}

const accountsOf = `SELECT b.owner, b.money, b.tokens, ` +
	`(SELECT COALESCE(sum(v.money), 0) ` + liveReservations + `), (SELECT COALESCE(sum(v.tokens), 0) ` + liveReservations + `)
FROM budgets b WHERE b.scope = ? AND b.per = ? AND b.begins = ? ORDER BY b.owner`

// liveReservations selects the reservations in account b that count.
const liveReservations = `FROM reservations v JOIN requests r ON r.id = v.request JOIN agents a ON a.id = r.agent
WHERE v.owner = b.owner AND v.per = b.per AND v.begins = b.begins AND r.state = 'running' AND a.lease_until > ?`

const sumLedger = `SELECT COALESCE(sum(u.cost), 0), COALESCE(sum(u.input + u.output), 0) `

func (s Ledger) sum(ctx context.Context, from string, args []any) (limit.Amount, error) {
	a, _, err := one(ctx, s.r, scanAmount, sumLedger+from, args...)
	return a, err
}

// namedIn returns the spender that a budget's scope names.
func (s Ledger) namedIn(ctx context.Context, home string, b limit.Budget) (limit.Spender, error) {
	sp := limit.Spender{Home: home}
	var err error
	switch kind, name, _ := limit.ParseScope(b.Scope); kind {
	case limit.ScopeAgent:
		sp.AgentName = fika.AgentName(name)
		var id string
		id, _, err = one(ctx, s.r, scanText, `SELECT id FROM agents WHERE name = ?`, name)
		sp.Agent = fika.AgentID(id)
	case limit.ScopeChat:
		sp.ChatName = fika.ConversationName(name)
		var id string
		id, _, err = one(ctx, s.r, scanText, `SELECT id FROM conversations WHERE name = ?`, name)
		sp.Chat = fika.ConversationID(id)
	}
	return sp, err
}

// CatchUp is LookAgain for budgets that are new or have changed. What was spent in their
// current windows while they did not hold is in no account: each account is raised to what
// the ledger has. An account that has more keeps it, since the ledger may be shortened, and
// so do those of chains, which are many and short.
func (s Ledger) CatchUp(ctx context.Context, home string, b limit.Budgets) error {
	return s.write(ctx, "catch up with budgets", func(ctx context.Context, t *tx) error {
		for _, budget := range b.List {
			if kind, _, _ := limit.ParseScope(budget.Scope); kind == limit.ScopeChain {
				continue
			}
			begin := b.AppliedTo(budget, limit.Spender{}, at(t.now)).Begin
			owners, err := many(ctx, t, scanText, `SELECT b.owner FROM budgets b WHERE b.scope = ? AND b.per = ? AND b.begins = ? ORDER BY b.owner`+lockRow, budget.Scope, budget.Per, begin)
			if err != nil {
				return err
			}
			for _, owner := range owners {
				_, id, _ := strings.Cut(owner, ":")
				from, args := inLedger(budget.Scope, owner, begin, limit.Spender{Home: home, Person: id})
				spent, _, err := one(ctx, t, scanAmount, sumLedger+from, args...)
				if err != nil {
					return err
				}
				if _, err := t.exec(ctx, `UPDATE budgets SET money = CASE WHEN money < ? THEN ? ELSE money END, tokens = CASE WHEN tokens < ? THEN ? ELSE tokens END
WHERE owner = ? AND per = ? AND begins = ?`, spent.Money, spent.Money, spent.Tokens, spent.Tokens, owner, budget.Per, begin); err != nil {
					return err
				}
			}
		}
		return lookAgain(ctx, t)
	})
}

// LookAgain makes requests that wait for a budget claimable now, because the budget
// may have grown. Those that still find no room go on waiting.
func (s Ledger) LookAgain(ctx context.Context) error {
	return s.write(ctx, "look at budgets again", func(ctx context.Context, t *tx) error { return lookAgain(ctx, t) })
}

func lookAgain(ctx context.Context, t *tx) error {
	_, err := t.exec(ctx, `UPDATE requests SET wait_until = 1 WHERE finished_at = 0 AND state = 'waiting' AND reason = 'limit'`)
	return err
}
