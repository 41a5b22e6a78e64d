package storetest

import (
	"context"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

// offerOn offers a commit that is in the repository of a host, of an agent or of nobody.
func (w *world) offerOn(host, tip string, agent fika.AgentName) {
	w.Helper()
	must(w.AddOffer(w.ctx, fika.Offer{Source: tip, Tip: tip, Into: "main", By: "ann", Host: host, Agent: agent}))(w)
}

// queueOf is what the hub of a host works, whose repository holds some commits besides its own.
func (w *world) queueOf(host string, holds ...string) store.OfferQueue {
	return store.OfferQueue{Offers: w.Offers, Host: host, Holds: func(_ context.Context, commit string) (bool, error) {
		return strings.Contains(" "+strings.Join(holds, " ")+" ", " "+commit+" "), nil
	}}
}

// queued returns the commits that a queue works, in their order.
func (w *world) queued(q store.OfferQueue) string {
	w.Helper()
	o, found, err := q.NextOffer(w.ctx)
	w.ok(err)
	if !found {
		return "none"
	}
	out := []any{o.Tip}
	for _, next := range must(q.Behind(w.ctx, o, 9))(w) {
		out = append(out, next.Tip)
	}
	return spaced(out...)
}

var offerQueueTests = map[string]func(*world){
	"each host works its own offers": func(w *world) {
		a, _, err := w.EnterHost(w.ctx, store.Site{Home: "a"}, "box-a", "v1", store.HostBus{}, time.Minute, time.Time{})
		w.ok(err)
		_, _, err = w.EnterHost(w.ctx, store.Site{Home: "b"}, "box-b", "v1", store.HostBus{}, time.Hour, time.Time{})
		w.ok(err)
		must(w.EnsureAgent(w.ctx, store.NewAgent{Name: "roamer", HomeID: "b"}))(w)
		w.offerOn("a", "a1", "")
		w.offerOn("b", "b1", "")
		w.offerOn("a", "a2", "roamer")
		w.offerOn("", "old", "")
		w.offerOn("gone", "gone", "")
		equal(w, "all", w.queued(w.queue()), "a1 b1 a2 old gone")
		equal(w, "of a", w.queued(w.queueOf("a")), "a1 a2")
		equal(w, "of b, with what else it holds", w.queued(w.queueOf("b", "a1", "a2", "old", "gone")), "b1 old gone")

		w.ok(w.LeaveHost(w.ctx, a))
		equal(w, "a is down: what its agents that are on b now have offered goes along", w.queued(w.queueOf("b", "a1", "a2")), "b1 a2")
		equal(w, "unless its commits do not", w.queued(w.queueOf("b", "a1")), "b1")

		q := w.queueOf("b", "a2", "base")
		o := must(w.Offer(w.ctx, 3))(w)
		o = must(q.ChangeOffers(w.ctx, []fika.Offer{o}, func(o *fika.Offer) { o.State = fika.OfferTrying }))(w)[0]
		equal(w, "what it works is its own", o.Host, "b")
		_, _, err = w.EnterHost(w.ctx, store.Site{Home: "a"}, "box-a", "v1", store.HostBus{}, time.Minute, time.Time{})
		w.ok(err)
		equal(w, "a is back", w.queued(w.queueOf("a")), "a1")
		equal(w, "b goes on", w.queued(w.queueOf("b")), "a2")

		land := func(o *fika.Offer) error { o.State, o.New = fika.OfferLanded, "new-"+o.Tip; return nil }
		must(q.ChangeOffer(w.ctx, 3, land))(w)
		must(w.queueOf("a").ChangeOffer(w.ctx, 1, land))(w)
		must(w.queueOf("b").ChangeOffer(w.ctx, 2, land))(w)
		landed := func(q store.OfferQueue) (out string) {
			for _, o := range must(q.Landed(w.ctx, "main"))(w) {
				out += o.Tip + " "
			}
			return out
		}
		equal(w, "landed on a", landed(w.queueOf("a", "new-b1")), "a1 ")
		equal(w, "landed on b", landed(w.queueOf("b", "new-a1")), "a2 b1 ")
		equal(w, "tips on b", spaced(must(w.LandedTips(w.ctx, fika.Offer{Agent: "roamer", Into: "main", Host: "b"}))(w)), "[a2]")
		equal(w, "tips on a", spaced(must(w.LandedTips(w.ctx, fika.Offer{Agent: "roamer", Into: "main", Host: "a"}))(w)), "[]")
	},
	"what comes back, and what is reviewed, is its host's": func(w *world) {
		for _, home := range []string{"a", "b"} {
			_, _, err := w.EnterHost(w.ctx, store.Site{Home: home}, "box-"+home, "v1", store.HostBus{}, time.Hour, time.Time{})
			w.ok(err)
		}
		l := w.lease("coder")
		c := w.begin(l, "build it")
		must(w.submit(c, "one", ""))(w)
		own := func(n fika.OfferNumber) { // says where it is
			must(w.queueOf("a").ChangeOffer(w.ctx, n, func(*fika.Offer) error { return nil }))(w)
		}
		own(1)
		o := w.back(1)
		w.answer(c, "offered")
		w.answer(w.reworked(l, o), "I cannot")
		_, found, err := w.queueOf("b", "one").NextAbandoned(w.ctx)
		w.ok(err)
		equal(w, "left on b", found, false)
		left, found, err := w.queueOf("a").NextAbandoned(w.ctx)
		w.ok(err)
		equal(w, "left on a", spaced(found, left.Ended), "true done")
	},
}
