package storetest

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

// offered adds an offer of a commit for main.
func (w *world) offered(tip string) fika.Offer {
	w.Helper()
	return must(w.AddOffer(w.ctx, fika.Offer{Source: "branch-" + tip, Title: "does " + tip, Tip: tip, Into: "main", By: "ann"}))(w)
}

// queue is all offers.
func (w *world) queue() store.OfferQueue { return store.OfferQueue{Offers: w.Offers} }

// next returns the first offer of the queue.
func (w *world) next() string {
	w.Helper()
	o, found, err := w.queue().NextOffer(w.ctx)
	w.ok(err)
	if !found {
		return "none"
	}
	return fmt.Sprint(o.Number, " ", o.State)
}

var offerTests = map[string]func(*world){
	"offers behind one another change together, all or none": func(w *world) {
		for _, tip := range []string{"a", "b", "c"} {
			must(w.AddOffer(w.ctx, fika.Offer{Source: tip, Tip: tip, Into: "main", By: "ann"}))(w)
		}
		must(w.AddOffer(w.ctx, fika.Offer{Source: "d", Tip: "d", Into: "other", By: "ann"}))(w)
		first := must(w.Offer(w.ctx, 1))(w)
		behind := must(w.queue().Behind(w.ctx, first, 9))(w)
		equal(w, "behind", spaced(len(behind), behind[0].Number, behind[1].Number, len(must(w.queue().Behind(w.ctx, first, 1))(w))), "2 2 3 1")
		tries := func(o *fika.Offer) { o.State = fika.OfferTrying }
		changed := must(w.ChangeOffers(w.ctx, append([]fika.Offer{first}, behind...), tries))(w)
		equal(w, "changed", spaced(len(changed), changed[2].State, must(w.Offer(w.ctx, 3))(w).Version == changed[2].Version), "3 trying true")
		_, err := w.ChangeOffers(w.ctx, []fika.Offer{changed[0], behind[0]}, func(o *fika.Offer) { o.State = fika.OfferMoving })
		w.refused(err, fika.Conflict)
		equal(w, "none", must(w.Offer(w.ctx, 1))(w).State, fika.OfferTrying)
	},
	"offers are worked one after the other": func(w *world) {
		equal(w, "empty", w.next(), "none")
		from := w.now()
		a, b := w.offered("aaa"), w.offered("bbb")
		equal(w, "numbers", fmt.Sprint(a.Number, " ", b.Number, " ", a.State), "1 2 waiting")
		equal(w, "told", lines(w.since(from)), "offer 1 waiting, offer 2 waiting")
		_, err := w.AddOffer(w.ctx, fika.Offer{Source: "again", Tip: "aaa", Into: "main"})
		w.refused(err, fika.Conflict)
		equal(w, "named", strings.Contains(err.Error(), "offer 1"), true)
		must(w.AddOffer(w.ctx, fika.Offer{Source: "elsewhere", Tip: "aaa", Into: "release"}))(w)
		must(w.ChangeOffer(w.ctx, 2, func(o *fika.Offer) error { o.State = fika.OfferMoving; return nil }))(w)
		equal(w, "what has begun comes first", w.next(), "2 moving")
		w.clock.Advance(time.Second)
		o := must(w.ChangeOffer(w.ctx, 2, func(o *fika.Offer) error {
			o.State, o.Reason, o.Base, o.Old, o.New, o.Output, o.Check, o.Checked = fika.OfferLanded, "it fits", "base", "old", "new", "ok", "make test", w.clock.Now()
			o.Asks, o.Accepted = []fika.PathRisk{{Path: "a b", Why: "x"}}, []string{"a b"}
			return nil
		}))(w)
		equal(w, "stored", fmt.Sprint(must(w.Offer(w.ctx, 2))(w)), fmt.Sprint(o))
		equal(w, "it has ended", o.EndedAt.Equal(w.clock.Now()), true)
		equal(w, "the next", w.next(), "1 waiting")
		equal(w, "going", len(must(w.ListOffers(w.ctx, store.OfferFilter{Going: true}))(w)), 2)
		list := must(w.ListOffers(w.ctx, store.OfferFilter{Before: 3, Limit: 1}))(w)
		equal(w, "a page", fmt.Sprint(len(list), list[0].Number), "1 2")
		must(w.ChangeOffer(w.ctx, 2, func(o *fika.Offer) error { o.State = fika.OfferWaiting; return nil }))(w)
		equal(w, "again", must(w.Offer(w.ctx, 2))(w).EndedAt.IsZero(), true)
		_, err = w.Offer(w.ctx, 9)
		w.refused(err, fika.NotFound)
	},
	"what fails changes nothing of an offer, and of two at once none is lost": func(w *world) {
		w.offered("aaa")
		_, err := w.ChangeOffer(w.ctx, 1, func(o *fika.Offer) error {
			o.State = fika.OfferLanded
			return fika.Errorf(fika.Conflict, "", "no")
		})
		w.refused(err, fika.Conflict)
		equal(w, "state", w.next(), "1 waiting")
		together(8, func(i int) {
			for range 5 {
				if _, err := w.ChangeOffer(w.ctx, 1, func(o *fika.Offer) error { o.Output += "x"; return nil }); err != nil {
					w.Error(err)
				}
				if _, err := w.AddOffer(w.ctx, fika.Offer{Source: "b", Tip: fmt.Sprint(i, w.clock.Now().UnixNano(), &i), Into: fmt.Sprint(i)}); err != nil && !fika.IsKind(err, fika.Conflict) {
					w.Error(err)
				}
			}
		})
		equal(w, "changes", len(must(w.Offer(w.ctx, 1))(w).Output), 40)
		big := must(w.ChangeOffer(w.ctx, 1, func(o *fika.Offer) error { o.Output = strings.Repeat("ä", 1<<20); return nil }))(w)
		equal(w, "bounded", len(big.Output) < 40<<10, true)
	},
}
