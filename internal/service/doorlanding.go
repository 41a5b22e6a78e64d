package service

import (
	"context"
	"strconv"

	"fika"
	"fika/internal/api"
)

func (d door) Landing(ctx context.Context) (out api.Landing, err error) {
	if err := d.c.Offers().mayOne("offer.show"); err != nil { // it names the person's folder
		return out, d.fails(err)
	}
	t, set, err := d.c.Offers().target()
	if err != nil {
		return out, d.fails(err)
	}
	out = api.Landing{Into: set.Into, Check: set.Check}
	out.Landed, out.Folder, out.Commits, err = t.Unapplied(ctx)
	return out, d.fails(err)
}

func (d door) Offers(ctx context.Context, p api.Page) (out api.List[api.OfferInfo], err error) {
	f := OfferFilter{Limit: pageSize(p) + 1}
	if p.After != "" {
		n, err := strconv.ParseInt(p.After, 10, 64)
		if err != nil || n < 1 {
			return out, d.fails(badPage(p.After))
		}
		f.Before = fika.OfferNumber(n)
	}
	list, err := d.c.Offers().List(ctx, f)
	out.Items = []api.OfferInfo{}
	for i, o := range list {
		if i == f.Limit-1 {
			out.Next = strconv.FormatInt(int64(list[i-1].Number), 10)
			break
		}
		out.Items = append(out.Items, offerInfo(o))
	}
	return out, d.fails(err)
}

func offerInfo(o PlacedOffer) api.OfferInfo {
	out := api.OfferInfo{
		Number: int64(o.Number), Source: o.Source, Agent: string(o.Agent), Title: o.Title, Into: o.Into, By: o.By, State: string(o.State), Host: o.On, Waits: o.Waits,
		Over: o.State.Ended(), Reason: o.Reason, Request: string(o.Request), Chain: string(o.Chain), Rework: string(o.Rework), Rounds: o.Round,
		Accepted: o.Accepted, Unpushed: o.Unpushed(), Created: o.CreatedAt, Updated: o.UpdatedAt,
	}
	for _, r := range o.Asking() {
		out.Asks = append(out.Asks, api.PathRisk{Path: r.Path, Why: r.Why})
	}
	return out
}

func (d door) Offer(ctx context.Context, n int64) (api.Offer, error) {
	o, err := d.c.Offers().Show(ctx, fika.OfferNumber(n))
	return api.Offer{OfferInfo: offerInfo(o), Tip: o.Tip, Base: o.Base, New: o.New, Check: o.Check, Checked: o.Checked, Output: o.Output}, d.fails(err)
}

func (d door) CancelOffer(ctx context.Context, n int64, why string, w api.Write) error {
	_, err := d.write(w).Offers().Cancel(ctx, fika.OfferNumber(n), why)
	return d.fails(err)
}

func (d door) RetryOffer(ctx context.Context, n int64, accept []string, w api.Write) error {
	_, err := d.write(w).Offers().Retry(ctx, fika.OfferNumber(n), accept)
	return d.fails(err)
}

func (d door) ApplyLanded(ctx context.Context, w api.Write) (api.Applied, error) {
	a, err := d.write(w).Offers().Apply(ctx)
	return api.Applied{Folder: a.Into, Commit: a.Commit, Nothing: a.Nothing, ByHand: a.ByHand, Why: a.Why}, d.fails(err)
}
