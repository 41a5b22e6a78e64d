package store

import (
	"context"
	"strconv"

	"fika"
)

// OfferQueue is the part of the offers that the hub of one host works.
//
// The commits of an offer are in the repository of one host, so it lands there, and waits while
// that host is down. It goes along with its agent: if that was taken over by another host, the
// offer lands there as long as its own is down, if its commits have come along.
type OfferQueue struct {
	Offers
	Host string // the id of the home; empty: all offers are its own
	// Holds reports whether a commit is in the host's repository: it is asked of offers that
	// are not the host's own. It is not needed without a host.
	Holds func(ctx context.Context, commit string) (bool, error)
}

// pick returns the first offers o that the queue works among those for which a condition holds,
// in an order; 0: no limit. of is the column with the commit that has to be there.
func (q OfferQueue) pick(ctx context.Context, of, where, order string, limit int, args ...any) (out []fika.Offer, err error) {
	if q.Host != "" {
		where += ` AND (o.host = ? OR NOT EXISTS (SELECT 1 FROM hosts h WHERE h.id = o.host)
OR o.ended_at = 0 AND NOT EXISTS (SELECT 1 FROM hosts h WHERE h.id = o.host AND h.until > ?) AND EXISTS (SELECT 1 FROM agents a WHERE a.name = o.agent AND a.home_id = ?))`
		args = append(args, q.Host, q.nowMS(), q.Host)
	}
	type place struct {
		n            fika.OfferNumber
		commit, host string
	}
	list, err := many(ctx, q.r, func(s scanner) (p place, err error) { return p, s.Scan(&p.n, &p.commit, &p.host) },
		`SELECT o.n, o.`+of+`, o.host FROM offers o WHERE `+where+` ORDER BY `+order, args...)
	for _, p := range list {
		holds := q.Host == "" || p.host == q.Host
		if err == nil && !holds {
			holds, err = q.Holds(ctx, p.commit)
		}
		if err != nil || limit > 0 && len(out) == limit {
			break
		}
		if !holds {
			continue
		}
		var o fika.Offer
		if o, err = offer(ctx, q.r, p.n); err == nil {
			out = append(out, o)
		}
	}
	return out, q.explain("read offers", err)
}

// mayBeTried is true of an offer o unless it is the work of a task whose own check has not
// been run yet: that comes at the end of the turn in which it was offered.
const mayBeTried = `NOT EXISTS (SELECT 1 FROM tasks t JOIN requests r ON r.id = o.request WHERE t.n = o.task AND o.task > 0 AND t.check_cmd <> '' AND r.finished_at = 0)`

// NextOffer returns the first offer in the queue: one that is being tried or moved, else the
// one that waits longest. found is false if there is none.
func (q OfferQueue) NextOffer(ctx context.Context) (o fika.Offer, found bool, err error) {
	list, err := q.pick(ctx, "tip", `o.ended_at = 0 AND o.state NOT IN ('rework', 'review') AND `+mayBeTried, `CASE WHEN o.state = 'waiting' THEN 1 ELSE 0 END, o.n`, 1)
	if err != nil || len(list) == 0 {
		return o, false, err
	}
	return list[0], true, nil
}

// Behind returns the offers for the same branch that wait behind one, in their order.
func (q OfferQueue) Behind(ctx context.Context, o fika.Offer, limit int) ([]fika.Offer, error) {
	return q.pick(ctx, "tip", `o.ended_at = 0 AND o.state IN ('waiting', 'trying') AND o.n > ? AND o.target = ? AND `+mayBeTried, `o.n`, limit, o.Number, o.Into)
}

// Abandoned is an offer on which nobody works any more, although it is in the state rework.
type Abandoned struct {
	fika.Offer
	Ended fika.RequestState // of the request in which its agent did; empty: it was deleted
	Why   string            // that ended so
}

// NextAbandoned returns the first offer that came back to its agent and whose agent has
// ended its turn without offering it again. found is false if there is none.
func (q OfferQueue) NextAbandoned(ctx context.Context) (a Abandoned, found bool, err error) {
	list, err := q.pick(ctx, "tip", `o.ended_at = 0 AND o.state = 'rework' AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.id = o.rework AND r.finished_at = 0)`, `o.n`, 1)
	if err != nil || len(list) == 0 {
		return a, false, err
	}
	a, _, err = one(ctx, q.r, func(s scanner) (a Abandoned, err error) { return a, s.Scan(&a.Ended, &a.Why) },
		`SELECT r.state, r.reason FROM requests r WHERE r.id = ?`, list[0].Rework)
	a.Offer = list[0]
	return a, err == nil, q.explain("read offer", err)
}

// NextReviewed returns the first offer whose reviews have all ended. found is false if there
// is none.
func (q OfferQueue) NextReviewed(ctx context.Context) (r Reviewed, found bool, err error) {
	list, err := q.pick(ctx, "tip", `o.ended_at = 0 AND o.state = 'review'`, `o.n`, 0)
	if err != nil {
		return r, false, err
	}
	for _, o := range list {
		said, ended, err := reviewsOf(ctx, q.r, o)
		if err != nil || ended {
			return Reviewed{o, said}, ended, q.explain("read reviews", err)
		}
	}
	return r, false, nil
}

// Landed returns the offers for a branch that have landed last in the queue's repository, and
// moved it, the latest first.
func (q OfferQueue) Landed(ctx context.Context, into string) ([]fika.Offer, error) {
	return q.pick(ctx, "new", `o.state = 'landed' AND o.new <> '' AND o.target = ?`, `o.ended_at DESC, o.n DESC LIMIT `+strconv.Itoa(pushedOnce), 0, into)
}

// ChangeOffer is [Offers.ChangeOffer]; an offer that the queue changes is its host's from then on.
func (q OfferQueue) ChangeOffer(ctx context.Context, n fika.OfferNumber, fn func(*fika.Offer) error) (fika.Offer, error) {
	return q.Offers.ChangeOffer(ctx, n, func(o *fika.Offer) error {
		q.take(o)
		return fn(o)
	})
}

// ChangeOffers is [Offers.ChangeOffers]; offers that the queue changes are its host's from then on.
func (q OfferQueue) ChangeOffers(ctx context.Context, was []fika.Offer, fn func(*fika.Offer)) ([]fika.Offer, error) {
	return q.Offers.ChangeOffers(ctx, was, func(o *fika.Offer) {
		q.take(o)
		fn(o)
	})
}

func (q OfferQueue) take(o *fika.Offer) {
	if q.Host != "" {
		o.Host = q.Host
	}
}
