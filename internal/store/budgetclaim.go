package store

import (
	"context"
	"time"

	"fika"
	"fika/internal/rights/limit"
)

// refused describes work that a budget has no room for, or whose model has no price.
type refused struct {
	text   string
	notice fika.EntryID
	kind   fika.Kind
	later  bool      // it waits instead of failing
	until  time.Time // when the wait ends; zero: when calls under way are done
	says   string    // notice posted where it waits
}

// refusedBy translates a verdict for the work; nil means that the work may be done.
// An error whose kind is not Invalid does not come from a budget and is returned.
func refusedBy(r *limit.Refusal, err error) (*refused, error) {
	switch {
	case fika.IsKind(err, fika.Invalid):
		return &refused{text: err.Error(), notice: limit.UnpricedNoticeID(err), kind: fika.Invalid}, nil
	case err != nil || r == nil:
		return nil, err
	}
	out := &refused{text: r.Text(), notice: r.NoticeID(), kind: fika.Limit, later: r.Later()}
	if r.Full {
		out.until, out.says = r.Window.Ends, r.Waiting()
	}
	return out, nil
}

// grantFor decides whether a request may make its next call. It returns nil if not:
// the request then waits or has failed, or the search is over.
func (k *claim) grantFor(ctx context.Context, r fika.Request, c fika.Conversation) (*grant, error) {
	s := limit.Spender{Agent: k.agent.ID, AgentName: k.agent.Name, Chat: c.ID, ChatName: c.Name, Chain: r.Chain}
	g, no, err := accountsIn(k.tx).mayReserve(ctx, k.limits.Budgets, s, r.ID, r.Payload.Model)
	refused, err := refusedBy(no, err)
	if err == nil && refused == nil {
		refused, err = k.chainCostUnknown(ctx, s, c)
	}
	switch {
	case err != nil:
		return nil, err
	case refused == nil:
		return &g, nil
	case k.atOnce:
		return nil, fika.Errorf(refused.kind, "", "%s", refused.text)
	case r.Origin == fika.Foreground || !refused.later && !k.waitsForBackup(r, *refused):
		return nil, k.failFor(ctx, r, c, *refused)
	case !refused.later:
		refused.until, refused.says = at(k.now).Add(backupWait), ""
	case refused.until.IsZero() && r.State != fika.Running:
		k.busy = true
		return nil, nil
	}
	return nil, k.waitForWindow(ctx, r, c, *refused)
}

// chainCostUnknown refuses work of a guest in a chain whose money is limited, if nobody
// knows what an earlier turn of the guest has cost the chain.
func (k *claim) chainCostUnknown(ctx context.Context, s limit.Spender, c fika.Conversation) (*refused, error) {
	most, b := k.limits.HoldingIn(c.Limits).MaxCost, k.limits.Budgets
	if most <= 0 || b.Guest == "" || s.Chain == "" {
		return nil, nil
	}
	a := limit.Applied{Budget: limit.Budget{Scope: limit.ScopeChain, Per: limit.PerTotal}}
	unknown, err := accountsIn(k.tx).costsUnknown(ctx, a, s, b.Guest)
	if err != nil || !unknown {
		return nil, err
	}
	text, notice := limit.ChainCostUnknown(s, most)
	return &refused{text: text, notice: notice, kind: fika.Limit}, nil
}

// backupWait is how long a request for which its agent has no budget waits to be
// handed to a backup before it fails.
const backupWait = 10 * time.Second

// waitsForBackup reports whether a request that would fail for want of a budget has
// not yet waited for a backup of its agent.
func (k *claim) waitsForBackup(r fika.Request, why refused) bool {
	return k.limits.Backed && why.kind == fika.Limit && r.UptoSeq == 0 && r.State == fika.Open && r.Addressed == ""
}

// grantForBatch decides whether the notifications of an agent in a conversation may
// be worked. If a budget refuses them for good, they are dropped, so that continuing
// the chain finds them.
func (k *claim) grantForBatch(ctx context.Context, c fika.Conversation, n newest) (grant, *refused, error) {
	s := limit.Spender{Agent: k.agent.ID, AgentName: k.agent.Name, Chat: c.ID, ChatName: c.Name, Chain: n.chain}
	g, no, err := accountsIn(k.tx).mayReserve(ctx, k.limits.Budgets, s, "", "")
	refused, err := refusedBy(no, err)
	if err == nil && refused == nil {
		refused, err = k.chainCostUnknown(ctx, s, c)
	}
	switch {
	case err != nil || refused == nil:
		return g, nil, err
	case refused.later && refused.until.IsZero():
		k.busy = true
		return g, refused, nil
	case refused.later:
		return g, refused, nil
	}
	if err := k.say(ctx, c, *refused, refused.text); err != nil {
		return g, refused, err
	}
	return g, refused, k.dropPending(ctx, c, n.chain)
}

// say posts the notice of a refusal, once.
func (k *claim) say(ctx context.Context, c fika.Conversation, r refused, text string) error {
	said, err := limitsIn(k.tx).noteOnce(ctx, c, r.notice, "", text, reasonLimit)
	k.noticed = append(k.noticed, said...)
	return err
}

// waitForWindow suspends a request until its budget's next window and posts a notice
// where it waits; if only calls under way are in the way, the request waits for
// busyWait.
func (k *claim) waitForWindow(ctx context.Context, r fika.Request, c fika.Conversation, why refused) error {
	until := why.until
	if until.IsZero() {
		until = at(k.now).Add(busyWait)
	}
	if why.says != "" {
		if err := k.say(ctx, c, why, why.says); err != nil {
			return err
		}
	}
	r.State = fika.Waiting
	k.tellRequest(r, EventData{Wait: fika.WaitLimit})
	return k.put(ctx, `UPDATE requests SET state = 'waiting', reason = 'limit', wait_until = ?, touched = ?,
attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END WHERE id = ?`, ms(until), k.now, r.ID)
}

// failFor ends a request that, as far as can be told, no budget will ever have room
// for.
func (k *claim) failFor(ctx context.Context, r fika.Request, c fika.Conversation, why refused) error {
	tr, err := k.lockTurn(ctx, r.ID)
	if err != nil {
		return err
	}
	if err := k.say(ctx, c, why, why.text); err != nil {
		return err
	}
	if err := limitsIn(k.tx).dropCovered(ctx, tr); err != nil {
		return err
	}
	_, err = k.end(ctx, tr, ending{state: fika.RequestFailed, reason: reasonLimit, outcome: fika.Outcome{Error: why.text, ErrorKind: why.kind}})
	return err
}

// exceedsBudget decides whether a running turn may make its next call, for which its
// last commit has reserved an amount. If the reservation no longer fits, or is in a
// window that is over, one look at all accounts decides; a turn that is refused gives
// its reservation back.
func (s *db) exceedsBudget(ctx context.Context, f Fence, r turn, l Limits) (Exceeded, error) {
	if len(l.Budgets.List) == 0 {
		return Exceeded{}, nil
	}
	if fits, err := s.reservationFits(ctx, r, l.Budgets); err != nil || fits {
		return Exceeded{}, err
	}
	var out Exceeded
	err := s.withinLease(ctx, "reserve", f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		out = Exceeded{}
		var ch chainRow
		if err := t.run(ctx, ch.locking(`?`, r.chain)); err != nil {
			return err
		}
		model, _, err := one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`, r.id)
		if err != nil {
			return err
		}
		g, no, err := accountsIn(t).mayReserve(ctx, l.Budgets, r.spender(), r.id, model.Payload.Model)
		refused, err := refusedBy(no, err)
		if err != nil {
			return err
		}
		if refused == nil {
			return accountsIn(t).reserve(ctx, r.id, g)
		}
		if err := accountsIn(t).release(ctx, r); err != nil {
			return err
		}
		out = Exceeded{Reason: refused.text, Kind: refused.kind}
		if !refused.later || r.origin == fika.Foreground {
			return nil
		}
		out.Until = refused.until
		if out.Until.IsZero() {
			out.Until = at(t.now).Add(busyWait)
			return nil
		}
		_, err = limitsIn(t).noteOnce(ctx, r.conv, refused.notice, "", refused.says, reasonLimit)
		return err
	})
	return out, err
}

// reservationFits reports, without a lock, whether a turn's reservation is in the
// accounts that hold now and has room there.
func (s *db) reservationFits(ctx context.Context, r turn, b limit.Budgets) (bool, error) {
	sp := r.spender()
	if err := completeSpender(ctx, s.r, &sp); err != nil {
		return false, err
	}
	now := s.nowMS()
	for _, a := range b.HoldingFor(sp, at(now)) {
		var own limit.Amount
		var bal limit.Balance
		found := false
		// One statement reads as of one moment.
		err := s.r.run(ctx, first(&own, &found, func(row scanner) (limit.Amount, error) {
			var own limit.Amount
			err := row.Scan(&own.Money, &own.Tokens, &bal.Spent.Money, &bal.Spent.Tokens, &bal.Reserved.Money, &bal.Reserved.Tokens)
			return own, err
		}, reservedBy, now, r.id, now, r.id, r.id, a.Owner, a.Account.Per, a.Begin))
		if err != nil || !found || a.Verdict(bal, own) != nil {
			return false, err
		}
	}
	return true, nil
}

// reservedBy selects a request's reservation in an account, and the account's
// balance.
const reservedBy = `SELECT m.money, m.tokens, b.money, b.tokens, (SELECT COALESCE(sum(v.money), 0) ` + liveReservations + ` AND v.request <> ?),
(SELECT COALESCE(sum(v.tokens), 0) ` + liveReservations + ` AND v.request <> ?)
FROM reservations m JOIN budgets b ON b.owner = m.owner AND b.per = m.per AND b.begins = m.begins
WHERE m.request = ? AND m.owner = ? AND m.per = ? AND m.begins = ?`
