package storetest

import (
	"fika"
)

var reviewTests = map[string]func(*world){
	"reviewers look at an offer, each in a request of its chain": func(w *world) {
		c := w.begin(w.lease("coder"), "build it")
		one, two := w.lease("critic"), w.lease("tester")
		o := must(w.submit(c, "a", ""))(w)
		_, err := w.AskReviews(w.ctx, o, []fika.AgentName{"critic", "nobody"}, "look")
		w.refused(err, fika.NotFound)
		asked := must(w.AskReviews(w.ctx, o, []fika.AgentName{"critic", "tester"}, "look"))(w)
		equal(w, "in review", spaced(asked.State, len(asked.Reviews), asked.EndedAt.IsZero(), w.next()), "review 2 true none")
		equal(w, "stored", spaced(must(w.Offer(w.ctx, 1))(w).Reviews), spaced(asked.Reviews))
		_, err = w.AskReviews(w.ctx, o, []fika.AgentName{"critic"}, "look")
		w.refused(err, fika.Conflict)
		_, err = w.submit(c, "a", "")
		w.refused(err, fika.Conflict)
		first := w.claim(one)
		equal(w, "asked", spaced(first.Prompt.Content, first.Prompt.From, first.Request.Chain == c.Request.Chain, first.Request.Depth, first.Request.Rights.Tools), "look landing true 1 [offer]")
		w.answer(first, `{"ok":true,"notes":"fine"}`)
		_, found, err := w.queue().NextReviewed(w.ctx)
		equal(w, "one is missing", spaced(found, err), "false <nil>")
		w.fail(w.claim(two), fika.RequestFailed)
		r, found, err := w.queue().NextReviewed(w.ctx)
		equal(w, "all said", spaced(r.Number, r.Said, found, err), "1 [{critic done true fine} {tester failed false test}] true <nil>")

		w.tried(1, fika.OfferWaiting)
		must(w.AskReviews(w.ctx, must(w.Offer(w.ctx, 1))(w), []fika.AgentName{"tester"}, "once more"))(w)
		second := w.claim(two)
		must(w.submit(c, "b", ""))(w)
		equal(w, "asked to stop", must(w.Request(w.ctx, second.Request.ID))(w).CancelAt.IsZero(), false)
		w.answer(second, "no JSON")
		asked = must(w.AskReviews(w.ctx, must(w.Offer(w.ctx, 1))(w), []fika.AgentName{"critic"}, "the new one"))(w)
		w.answer(w.claim(one), `not JSON`)
		r, _, err = w.queue().NextReviewed(w.ctx)
		equal(w, "cannot be read", spaced(r.Said, err), "[{critic failed false its answer cannot be read}] <nil>")
		w.ok(w.DeleteConversation(w.ctx, must(w.Request(w.ctx, asked.Reviews[3].Request))(w).Conversation))
		r, _, err = w.queue().NextReviewed(w.ctx)
		equal(w, "deleted", spaced(r.Said, err), "[{critic  false its conversation was deleted}] <nil>")
		equal(w, "four in all", len(asked.Reviews), 4)
		_, err = w.ChangeOffer(w.ctx, 1, func(o *fika.Offer) error { o.State = fika.OfferCancelled; return nil })
		w.ok(err)
	},
}
