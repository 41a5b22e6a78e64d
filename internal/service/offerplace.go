package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fika"
	"fika/internal/store"
)

// PlacedOffer is an offer and where it lands.
type PlacedOffer struct {
	fika.Offer
	On    string // the host in whose repository its commits are; empty: there are not several hosts
	Waits string // why nothing happens to it there; empty: nothing is known to be in the way
}

// Place says where offers land.
func (o *Offers) Place(ctx context.Context, list ...fika.Offer) ([]PlacedOffer, error) {
	out := make([]PlacedOffer, len(list))
	for i, one := range list {
		out[i].Offer = one
	}
	hosts, err := o.c.hosts(ctx)
	if err != nil || len(hosts) == 0 {
		return out, err
	}
	rows, err := o.c.store.ListAgents(ctx)
	homes := map[fika.AgentName]string{}
	for _, row := range rows {
		homes[row.Name] = row.HomeID
	}
	for i := range out {
		f := &out[i]
		at, to := hosts[f.Host], hosts[homes[f.Agent]]
		if at != nil && len(hosts) > 1 {
			f.On = at.Name
		}
		switch {
		case f.State.Ended() || f.Host == "" || at != nil && (at.Up || f.On == ""):
		case at == nil:
			f.Waits = "waits for a host whose clone has its commits: the one where it was offered is forgotten"
		case to != nil && to.Up:
			f.Waits = fmt.Sprintf("waits for the host %s, which is down, or lands on %s, where @%s is now, if its commits are there", at.Name, to.Name, f.Agent)
		default:
			f.Waits = fmt.Sprintf("waits for the host %s, which is down (last seen %s)", at.Name, at.Seen.UTC().Format(time.RFC3339))
		}
	}
	return out, err
}

// Away returns the offers for which nothing happens because their host is down or forgotten, if
// the caller sees everything.
func (o *Offers) Away(ctx context.Context) ([]PlacedOffer, error) {
	if !o.c.Hosts().Shared() {
		return nil, nil
	}
	list, err := o.List(ctx, OfferFilter{Going: true})
	return slices.DeleteFunc(list, func(f PlacedOffer) bool { return f.Waits == "" }), err
}

// landed returns the offers that landed last where one has landed, the latest first.
func (o *Offers) landed(ctx context.Context, f fika.Offer) ([]fika.Offer, error) {
	others := func(context.Context, string) (bool, error) { return false, nil }
	return store.OfferQueue{Offers: o.c.store.Offers, Host: f.Host, Holds: others}.Landed(ctx, f.Into)
}
