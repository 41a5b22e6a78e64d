package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"fika"
)

// Offers keeps what is to land on branches, and what became of it.
type Offers struct{ *db }

const offerColumns = `o.n, o.source, o.agent, o.title, o.tip, o.target, o.created_by, o.state, o.reason, o.base, o.old, o.new, o.output, o.asks, o.accepted,
o.checked_by, o.checked_at, o.version, o.created_at, o.updated_at, o.ended_at`

func scanOffer(s scanner) (o fika.Offer, err error) {
	var asks, accepted string
	var checked, created, updated, ended int64
	err = s.Scan(&o.Number, &o.Source, &o.Agent, &o.Title, &o.Tip, &o.Into, &o.By, &o.State, &o.Reason, &o.Base, &o.Old, &o.New, &o.Output, &asks, &accepted,
		&o.Check, &checked, &o.Version, &created, &updated, &ended)
	if err != nil {
		return o, err
	}
	o.Checked, o.CreatedAt, o.UpdatedAt, o.EndedAt = at(checked), at(created), at(updated), at(ended)
	for _, list := range []struct {
		text string
		to   any
	}{{asks, &o.Asks}, {accepted, &o.Accepted}} {
		if list.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(list.text), list.to); err != nil {
			return o, fika.Errorf(fika.Storage, "read offer", "offer %d has paths that cannot be read: %v", o.Number, err)
		}
	}
	return o, nil
}

func errNoOffer(n fika.OfferNumber) error {
	return fika.Errorf(fika.NotFound, "", "offer %d not found", n)
}

// Offer returns an offer. It fails with NotFound.
func (s Offers) Offer(ctx context.Context, n fika.OfferNumber) (fika.Offer, error) {
	o, err := offer(ctx, s.r, n)
	return o, s.explain("read offer", err)
}

func offer(ctx context.Context, q querier, n fika.OfferNumber) (fika.Offer, error) {
	o, found, err := one(ctx, q, scanOffer, `SELECT `+offerColumns+` FROM offers o WHERE o.n = ?`, n)
	if err == nil && !found {
		err = errNoOffer(n)
	}
	return o, err
}

// OfferFilter narrows [Offers.ListOffers]; empty fields match everything.
type OfferFilter struct {
	Going  bool             // only those in the queue
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
	text := `SELECT ` + offerColumns + ` FROM offers o`
	if len(where) > 0 {
		text += ` WHERE ` + strings.Join(where, ` AND `)
	}
	list, err := many(ctx, s.r, scanOffer, text+` ORDER BY o.n DESC LIMIT ?`, append(args, noLimit(f.Limit))...)
	return list, s.explain("list offers", err)
}

// NextOffer returns the first offer in the queue: one that is being tried or moved, else the
// one that waits longest. found is false if there is none.
func (s Offers) NextOffer(ctx context.Context) (o fika.Offer, found bool, err error) {
	o, found, err = one(ctx, s.r, scanOffer, `SELECT `+offerColumns+` FROM offers o WHERE o.ended_at = 0 ORDER BY CASE WHEN o.state = 'waiting' THEN 1 ELSE 0 END, o.n LIMIT 1`)
	return o, found, s.explain("read offer", err)
}

// AddOffer adds an offer to the end of the queue: Number, State and times are filled in. It
// fails with Conflict if the same commit is in the queue for the same branch.
func (s Offers) AddOffer(ctx context.Context, o fika.Offer) (fika.Offer, error) {
	const op = "add offer"
	out := o
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = o
		same, found, err := one(ctx, t, scanInt, `SELECT o.n FROM offers o WHERE o.ended_at = 0 AND o.tip = ? AND o.target = ?`, o.Tip, o.Into)
		if err != nil {
			return err
		}
		if found {
			return fika.Errorf(fika.Conflict, op, "this commit is in the queue already: offer %d", same)
		}
		last, _, err := one(ctx, t, scanInt, `SELECT COALESCE(max(n), 0) FROM offers`)
		if err != nil {
			return err
		}
		out.Number, out.State, out.Version, out.CreatedAt, out.UpdatedAt = fika.OfferNumber(last)+1, fika.OfferWaiting, 1, at(t.now), at(t.now)
		if err := t.put(ctx, `INSERT INTO offers (n, source, agent, title, tip, target, created_by, state, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			out.Number, out.Source, out.Agent, out.Title, out.Tip, out.Into, out.By, out.State, t.now, t.now); err != nil {
			return err
		}
		t.tell(event{kind: OfferEvent, seq: int64(out.Number), state: string(out.State)})
		return nil
	})
	return out, err
}

// maxOfferOutput bounds what is kept of the output of a check, in bytes.
const maxOfferOutput = 32 << 10

// ChangeOffer stores what fn makes of an offer, and returns the offer as it then stands. If
// fn fails nothing is stored. It fails with NotFound.
func (s Offers) ChangeOffer(ctx context.Context, n fika.OfferNumber, fn func(*fika.Offer) error) (fika.Offer, error) {
	const op = "change offer"
	var out fika.Offer
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		if out, err = offer(ctx, t, n); err != nil {
			return err
		}
		if err := fn(&out); err != nil {
			return err
		}
		asks, err := toJSON(op, append([]fika.PathRisk{}, out.Asks...))
		if err != nil {
			return err
		}
		accepted, err := toJSON(op, append([]string{}, out.Accepted...))
		if err != nil {
			return err
		}
		out.UpdatedAt = at(t.now)
		switch {
		case !out.State.Ended():
			out.EndedAt = time.Time{}
		case out.EndedAt.IsZero():
			out.EndedAt = at(t.now)
		}
		out.Reason, out.Output = clip(out.Reason, maxTaskLine), clip(out.Output, maxOfferOutput)
		changed, err := t.exec(ctx, `UPDATE offers SET title = ?, tip = ?, state = ?, reason = ?, base = ?, old = ?, new = ?, output = ?, asks = ?, accepted = ?, checked_by = ?, checked_at = ?,
version = version + 1, updated_at = ?, ended_at = ? WHERE n = ? AND version = ?`, out.Title, out.Tip, out.State, out.Reason, out.Base, out.Old, out.New, out.Output, asks, accepted,
			out.Check, ms(out.Checked), t.now, ms(out.EndedAt), n, out.Version)
		if err == nil && changed == 0 {
			err = errAgain
		}
		out.Version++
		t.tell(event{kind: OfferEvent, seq: int64(n), state: string(out.State)})
		return err
	})
	return out, err
}
