package store

import (
	"cmp"
	"context"
	"fmt"

	"fika"
)

// reviewForm is the form of what a reviewer answers.
const reviewForm = `{"type":"object","properties":{"ok":{"type":"boolean"},"notes":{"type":"string"}},"required":["ok","notes"],"additionalProperties":false}`

// AskReviews has agents look at an offer that is as it was read, before it goes on in the
// queue: each in a request of its own in the offer's chain, which answers whether it is good
// as it is, with notes. It fails with Conflict if the offer was changed meanwhile, and with
// NotFound for a reviewer that does not exist.
func (s Offers) AskReviews(ctx context.Context, was fika.Offer, reviewers []fika.AgentName, text string) (fika.Offer, error) {
	const op = "ask for reviews"
	var out fika.Offer
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		if out, err = offer(ctx, t, was.Number); err != nil {
			return err
		}
		if out.Version != was.Version {
			return errOfferChanged(op, out)
		}
		for _, name := range reviewers {
			id, found, err := one(ctx, t, scanText, `SELECT a.id FROM agents a WHERE a.name = ?`, name)
			if err != nil || !found {
				return cmp.Or(err, fika.Errorf(fika.NotFound, op, "there is no @%s, which is to review it", name))
			}
			acc, err := requestsIn(t).accept(ctx, reviewRequest(fika.AgentID(id), out.Chain, out.Depth, out.Rights, out.Taint, text))
			if err != nil {
				return err
			}
			out.Reviews = append(out.Reviews, fika.OfferReview{Agent: name, Request: acc.Request.ID, Tip: out.Tip})
		}
		out.State, out.Reason = fika.OfferReviewed, ""
		return offersIn(t).save(ctx, &out)
	})
	return out, err
}

func errOfferChanged(op string, now fika.Offer) error {
	return fika.Errorf(fika.Conflict, op, "offer %d was changed meanwhile: it is %s", now.Number, now.State)
}

// Reviewed is an offer that all its reviewers have looked at.
type Reviewed struct {
	fika.Offer
	Said []Review
}

// Review is what came of a review.
type Review struct {
	Agent fika.AgentName
	Ended fika.RequestState // of its request; empty: that was deleted
	OK    bool
	Notes string // what it says, or why there is no review
}

// reviewsOf returns the reviews of the commit that an offer now has, and whether all have
// ended.
func reviewsOf(ctx context.Context, q querier, o fika.Offer) (said []Review, ended bool, err error) {
	for _, r := range o.Reviews {
		if r.Tip != o.Tip || r.Request == "" {
			continue
		}
		request, found, err := one(ctx, q, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`, r.Request)
		switch {
		case err != nil:
			return nil, false, err
		case !found:
			said = append(said, Review{Agent: r.Agent, Notes: "its conversation was deleted"})
			continue
		case !request.State.Terminal():
			return nil, false, nil
		}
		one := Review{Agent: r.Agent, Ended: request.State, Notes: request.Reason}
		if request.State == fika.Done {
			j, err := readReview(request.Outcome.Answer)
			if one.OK, one.Notes = j.OK, j.Notes; err != nil {
				one.Ended, one.Notes = fika.RequestFailed, err.Error()
			}
		}
		said = append(said, one)
	}
	return said, true, nil
}

// endReviews asks the reviewers of an offer to stop: it is cancelled, or there is something
// newer.
func (t offerRows) endReviews(ctx context.Context, o fika.Offer, why string) error {
	if o.State != fika.OfferReviewed {
		return nil
	}
	for _, r := range o.Reviews {
		if r.Request == "" {
			continue
		}
		if err := t.tx.cancel(ctx, r.Request, fmt.Sprintf("offer %d %s", o.Number, why)); err != nil && !fika.IsKind(err, fika.NotFound) {
			return err
		}
	}
	return nil
}
