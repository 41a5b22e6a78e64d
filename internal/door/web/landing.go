package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"fika/internal/api"
	"fika/internal/report/inbox"
)

// offersShown is how many offers a page of the landing shows.
const offersShown = 100

// landing is what lands on the project's branch.
type landing struct {
	api.Landing
	Nothing string // why nothing lands here; empty: something can
	Asks    []api.OfferInfo
	Queue   []api.OfferInfo // the next one first
	Over    []api.OfferInfo // the latest first
	Next    string
}

// landings shows the queue of what is to land.
func landings(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	var x landing
	var err error
	if x.Landing, err = to.Landing(ctx); err != nil {
		if api.CodeOf(err) != api.Invalid {
			return view{}, err
		}
		x.Nothing = sentence(err)
	}
	list, err := to.Offers(ctx, api.Page{After: r.FormValue("after"), Limit: offersShown})
	for _, o := range list.Items {
		switch {
		case inbox.NeedsPerson(o):
			x.Asks = append(x.Asks, o)
		case o.Over:
			x.Over = append(x.Over, o)
		default:
			x.Queue = append(x.Queue, o)
		}
	}
	slices.Reverse(x.Queue)
	x.Next = list.Next
	return view{
		Title: "Landing", Nav: "landing", Live: "/live/landing?" + r.URL.RawQuery, scope: api.Scope{Kinds: []api.EventKind{api.OfferEvent}}, every: slowly,
		Parts: []part{{"landing", "landing", x}},
	}, err
}

// offer shows one offer.
func offer(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	n, err := number(r)
	if err != nil {
		return view{}, err
	}
	o, err := to.Offer(ctx, n)
	return view{
		Title: fmt.Sprint("Offer ", n), Nav: "landing", Live: fmt.Sprint("/live/landing/", n), scope: api.Scope{Kinds: []api.EventKind{api.OfferEvent}},
		Parts: []part{{"offer", "offer", o}},
	}, err
}

// changeOffer does one of the things that a person can do to an offer.
func changeOffer(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	n, err := number(r)
	if err != nil {
		return "", err
	}
	switch r.PathValue("verb") {
	case "cancel":
		return "Cancelled.", to.CancelOffer(ctx, n, r.PostFormValue("why"), w)
	case "retry":
		return "It is tried again.", to.RetryOffer(ctx, n, r.PostForm["accept"], w)
	}
	return "", &api.Error{Code: api.NotFound}
}

// apply brings what has landed into the person's files.
func apply(ctx context.Context, to api.Service, _ *http.Request, w api.Write) (string, error) {
	a, err := to.ApplyLanded(ctx, w)
	switch {
	case err != nil:
		return "", err
	case a.ByHand != "":
		return "", &api.Error{Code: api.Conflict, Detail: fmt.Sprintf("Nothing was changed, because %s. Your own git does it, in %s: %s", a.Why, a.Folder, a.ByHand)}
	case a.Nothing:
		return "Your files have all that has landed.", nil
	}
	return fmt.Sprintf("Your files are now at %.12s.", a.Commit), nil
}
