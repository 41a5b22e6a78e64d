package store

import (
	"context"
	"encoding/json"
	"strings"

	"fika"
	"fika/internal/text/hint"
)

// Offers keeps what is to land on branches, and what became of it.
type Offers struct{ *db }

const offerColumns = `o.n, o.source, o.agent, o.title, o.tip, o.target, o.created_by, o.state, o.reason, o.base, o.old, o.new, o.output, o.asks, o.accepted,
o.checked_by, o.checked_at, o.version, o.created_at, o.updated_at, o.ended_at, o.request, o.chain, o.depth, o.rights, o.taint, o.round, o.rework, o.task, o.reviews, o.push_state, o.push, o.host,
COALESCE((SELECT a.name FROM tasks t JOIN agents a ON a.id = t.review_by WHERE t.n = o.task AND o.task > 0), '')`

const selectOffer = `SELECT ` + offerColumns + ` FROM offers o`

func scanOffer(s scanner) (fika.Offer, error) { return offerRow(s) }

// offerRow scans an offer, and the columns after it into more.
func offerRow(s scanner, more ...any) (o fika.Offer, err error) {
	var asks, accepted, rights, reviews, push string
	var checked, created, updated, ended int64
	dest := []any{&o.Number, &o.Source, &o.Agent, &o.Title, &o.Tip, &o.Into, &o.By, &o.State, &o.Reason, &o.Base, &o.Old, &o.New, &o.Output, &asks, &accepted,
		&o.Check, &checked, &o.Version, &created, &updated, &ended, &o.Request, &o.Chain, &o.Depth, &rights, &o.Taint, &o.Round, &o.Rework, &o.Task, &reviews, &o.Push.State, &push, &o.Host, &o.Reviewer}
	if err = s.Scan(append(dest, more...)...); err != nil {
		return o, err
	}
	if o.Rights, err = readRights(rights); err != nil {
		return o, fika.Errorf(fika.Storage, "read offer", "offer %d has rights that cannot be read: %v", o.Number, err)
	}
	o.Checked, o.CreatedAt, o.UpdatedAt, o.EndedAt = at(checked), at(created), at(updated), at(ended)
	for _, list := range []struct {
		text string
		to   any
	}{{asks, &o.Asks}, {accepted, &o.Accepted}, {reviews, &o.Reviews}, {push, &o.Push}} {
		if list.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(list.text), list.to); err != nil {
			return o, fika.Errorf(fika.Storage, "read offer", "offer %d has lists that cannot be read: %v", o.Number, err)
		}
	}
	return o, nil
}

func errNoOffer(n fika.OfferNumber) error {
	return fika.WithHint(fika.Errorf(fika.NotFound, "", "offer %d not found", n), hint.LandList.With())
}

// Offer returns an offer. It fails with NotFound.
func (s Offers) Offer(ctx context.Context, n fika.OfferNumber) (fika.Offer, error) {
	o, err := offer(ctx, s.r, n)
	return o, s.explain("read offer", err)
}

func offer(ctx context.Context, q querier, n fika.OfferNumber) (fika.Offer, error) {
	o, found, err := one(ctx, q, scanOffer, selectOffer+` WHERE o.n = ?`, n)
	if err == nil && !found {
		err = errNoOffer(n)
	}
	return o, err
}

// OfferOf returns the newest offer of the work on a task; found is false if there is none.
func (s Offers) OfferOf(ctx context.Context, n fika.TaskNumber) (o fika.Offer, found bool, err error) {
	o, found, err = one(ctx, s.r, scanOffer, selectOffer+` WHERE o.task = ? AND o.task > 0 ORDER BY o.n DESC LIMIT 1`, n)
	return o, found, s.explain("read offer", err)
}

// OfferFilter narrows [Offers.ListOffers]; empty fields match everything.
type OfferFilter struct {
	Going  bool             // only those that have not ended
	Before fika.OfferNumber // only smaller numbers
	Limit  int
}

// ListOffers returns the offers that match, the newest first.
func (s Offers) ListOffers(ctx context.Context, f OfferFilter) ([]fika.Offer, error) {
	var where []string
	var args []any
	if f.Going {
		where = append(where, `o.ended_at = 0`)
	}
	if f.Before > 0 {
		where, args = append(where, `o.n < ?`), append(args, f.Before)
	}
	text := selectOffer
	if len(where) > 0 {
		text += ` WHERE ` + strings.Join(where, ` AND `)
	}
	list, err := many(ctx, s.r, scanOffer, text+` ORDER BY o.n DESC LIMIT ?`, append(args, noLimit(f.Limit))...)
	return list, s.explain("list offers", err)
}

// landedTips is how many of an agent's commits that have landed are looked at.
const landedTips = 20

// LandedTips returns the commits that were offered from the worktree of an offer for the
// same branch and that have landed on its host, the newest first; on any host if the offer
// names none; of a person's offer none.
func (s Offers) LandedTips(ctx context.Context, o fika.Offer) ([]string, error) {
	if o.Agent == "" && o.Task == 0 {
		return nil, nil
	}
	from, args := fromTree(o)
	list, err := many(ctx, s.r, scanText, `SELECT o.tip FROM offers o WHERE `+from+` AND o.target = ? AND o.state = 'landed' AND (? = '' OR o.host IN (?, '')) ORDER BY o.n DESC LIMIT ?`, append(args, o.Into, o.Host, o.Host, landedTips)...)
	return list, s.explain("read landed offers", err)
}

// fromTree returns the condition under which an offer o comes from the same worktree as
// another one: that of its task, or its agent's own.
func fromTree(other fika.Offer) (where string, args []any) {
	if other.Task > 0 {
		return `o.task = ? AND o.task > 0`, []any{other.Task}
	}
	return `o.agent = ? AND o.task = 0`, []any{other.Agent}
}
