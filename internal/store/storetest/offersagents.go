package storetest

import (
	"fmt"
	"strings"

	"fika"
	"fika/internal/store"
)

// submit offers a commit in the name of the agent that works a request.
func (w *world) submit(c store.Claimed, tip, held string) (fika.Offer, error) {
	return w.SubmitOffer(w.ctx, fika.Offer{
		Source: "@" + string(c.Agent.Name), Agent: c.Agent.Name, By: "@" + string(c.Agent.Name), Into: "main", Title: "does " + tip, Tip: tip,
		Request: c.Request.ID, Chain: c.Request.Chain, Depth: c.Request.Depth, Task: c.Request.Task, Rights: &fika.Rights{Tools: []string{"offer"}},
	}, held)
}

// spaced writes values with spaces between them.
func spaced(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

// tried says that an offer is tried now.
func (w *world) tried(n fika.OfferNumber, state fika.OfferState) fika.Offer {
	w.Helper()
	return must(w.ChangeOffer(w.ctx, n, func(o *fika.Offer) error { o.State, o.Base = state, "base"; return nil }))(w)
}

// back sends an offer back to its agent, and returns it.
func (w *world) back(n fika.OfferNumber) fika.Offer {
	w.Helper()
	return must(w.ReturnOffer(w.ctx, w.tried(n, fika.OfferTrying), store.Returned{Reason: "the check fails", Output: "red", Text: "look at this", Base: "base"}))(w)
}

// reworked claims what an agent does because an offer came back.
func (w *world) reworked(l store.Lease, o fika.Offer) store.Claimed {
	w.Helper()
	c := w.claim(l)
	equal(w, "claimed", c.Request.ID, o.Rework)
	return c
}

var agentOfferTests = map[string]func(*world){
	"an agent has one offer at a time, which continues": func(w *world) {
		c := w.begin(w.lease("coder"), "build it")
		o := must(w.submit(c, "a", ""))(w)
		stored := must(w.Offer(w.ctx, o.Number))(w)
		stored.Rights, o.Rights = nil, nil
		equal(w, "stored", spaced(stored), spaced(o))
		equal(w, "first", spaced(o.Number, o.State, o.Round, o.Chain == c.Request.Chain), "1 waiting 0 true")
		_, err := w.submit(c, "a", "")
		w.refused(err, fika.Conflict)
		equal(w, "newer", spaced(must(w.submit(c, "b", ""))(w).Number, w.next()), "1 1 waiting")
		w.tried(1, fika.OfferTrying)
		o = must(w.submit(c, "c", ""))(w)
		equal(w, "tried from the beginning", spaced(o.Number, o.State, o.Tip), "1 waiting c")
		w.tried(1, fika.OfferMoving)
		equal(w, "about to land", spaced(must(w.submit(c, "d", ""))(w).Number), "2")
		w.tried(2, fika.OfferLanded)
		o = must(w.submit(c, "e", "it has read a page"))(w)
		equal(w, "held", spaced(o.Number, o.State, o.Reason, o.EndedAt.IsZero()), "3 held it has read a page false")
		equal(w, "not in the queue", w.next(), "1 moving")
		o = must(w.submit(c, "f", ""))(w)
		equal(w, "it stays", spaced(o.Number, o.State, o.Reason, o.Tip), "3 held it has read a page f")
		_, err = w.submit(c, "f", "")
		w.refused(err, fika.Conflict)
		w.tried(3, fika.OfferCancelled)
		_, err = w.submit(c, "g", "")
		w.refused(err, fika.Conflict)
		w.answer(c, "done")
		c = w.begin(w.lease("coder"), "and now?")
		equal(w, "another request", must(w.submit(c, "g", ""))(w).Number, 4)
		other := w.begin(w.lease("tester"), "test it")
		equal(w, "another agent", must(w.submit(other, "h", ""))(w).Number, 5)
	},
	"an offer comes back as one request a round, where it was offered": func(w *world) {
		l := w.lease("coder")
		c := w.begin(l, "build it")
		w.post(w.chat("room"), "@coder and this", "coder")
		must(w.submit(c, "a", ""))(w)
		o := w.back(1)
		equal(w, "back", spaced(o.State, o.Round, o.EndedAt.IsZero(), w.next()), "rework 1 true none")
		_, err := w.ReturnOffer(w.ctx, fika.Offer{Number: 1, Version: o.Version - 1}, store.Returned{})
		w.refused(err, fika.Conflict)
		_, found, err := w.queue().NextAbandoned(w.ctx)
		equal(w, "abandoned", spaced(found, err), "false <nil>")
		w.answer(c, "offered")
		again := w.reworked(l, o)
		e := w.entries(c.Conversation.ID)
		said := e[len(e)-2] // before the answer of the turn that was at work
		equal(w, "said", spaced(said.From, said.To, said.Content, said.Meta.Writer), "landing coder look at this tool")
		equal(w, "bound", spaced(again.Conversation.ID == c.Conversation.ID, again.Request.Chain == c.Request.Chain, again.Request.Depth, again.Request.Rights.Tools, again.Request.UptoSeq > said.Seq), "true true 1 [offer] true")
		_, err = w.submit(again, "a", "")
		w.refused(err, fika.Conflict)
		o = must(w.submit(again, "b", ""))(w)
		equal(w, "continues", spaced(o.Number, o.State, o.Round, o.Rework, o.Depth), "1 waiting 1  1")
		o = w.back(1)
		w.answer(again, "once more")
		third := w.reworked(l, o)
		w.answer(third, "I cannot")
		a, found, err := w.queue().NextAbandoned(w.ctx)
		equal(w, "abandoned", spaced(a.Number, a.Ended, a.Round, found, err), "1 done 2 true <nil>")
		w.whole(c.Conversation.ID)

		room := w.claim(l)
		equal(w, "in the chat", room.Conversation.Name, "room")
		w.tried(1, fika.OfferLanded)
		must(w.submit(room, "c", ""))(w)
		w.answer(room, "offered")
		o = w.back(2)
		c = w.reworked(l, o)
		equal(w, "in the chat again", spaced(c.Conversation.Name, c.Request.Kind), "room notify")
		w.fail(c, fika.RequestFailed)
		a, _, err = w.queue().NextAbandoned(w.ctx)
		equal(w, "failed", spaced(a.Number, a.Ended, a.Why, err), "2 failed test <nil>")
		w.ok(w.DeleteConversation(w.ctx, room.Conversation.ID))
		a, _, err = w.queue().NextAbandoned(w.ctx)
		equal(w, "deleted", spaced(a.Number, a.Ended, err), "2  <nil>")
		o = w.back(2)
		equal(w, "in its own conversation", w.reworked(l, o).Conversation.Kind, fika.Ask)
	},
	"a task that is done continues when what it offered comes back": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.TaskRequest, l.Agent, "build it")
		c := w.claim(l)
		must(w.submit(c, "a", ""))(w)
		w.answer(c, "offered")
		again := w.reworked(l, w.back(1))
		equal(w, "where", spaced(again.Conversation.ID == c.Conversation.ID, again.Request.Kind, again.Request.Payload.Continue, w.info(c.Conversation.ID).Status), "true task true active")
		w.answer(again, "offered again")
		equal(w, "status", w.info(c.Conversation.ID).Status, fika.Completed)
		w.ok(w.Release(w.ctx, l))
		w.ok(w.DeleteAgent(w.ctx, l.Agent))
		_, err := w.ReturnOffer(w.ctx, w.tried(1, fika.OfferTrying), store.Returned{})
		w.refused(err, fika.NotFound)
	},
	"an agent stops to work on an offer that is cancelled": func(w *world) {
		l := w.lease("coder")
		c := w.begin(l, "build it")
		must(w.submit(c, "a", ""))(w)
		w.answer(c, "offered")
		again := w.reworked(l, w.back(1))
		w.tried(1, fika.OfferCancelled)
		equal(w, "asked to stop", must(w.Request(w.ctx, again.Request.ID))(w).CancelAt.IsZero(), false)
		_, err := w.submit(again, "b", "")
		w.refused(err, fika.Conflict)
		equal(w, "why", strings.Contains(err.Error(), "cancelled offer 1"), true)
		w.fail(again, fika.Cancelled)
		c = w.begin(l, "another thing")
		must(w.submit(c, "b", ""))(w)
		o := w.back(2)
		w.tried(2, fika.OfferCancelled)
		w.state(o.Rework, fika.Cancelled)
	},
	"the limits of a chain hold for what comes back": func(w *world) {
		l := w.lease("coder")
		w.limits.MaxTurns = 2
		c := w.begin(l, "build it")
		must(w.submit(c, "a", ""))(w)
		w.answer(c, "offered")
		second := w.reworked(l, w.back(1))
		must(w.submit(second, "b", ""))(w)
		w.answer(second, "offered again")
		o := w.back(1)
		w.nothing(l)
		a, _, err := w.queue().NextAbandoned(w.ctx)
		equal(w, "refused", spaced(a.Rework == o.Rework, a.Ended, err), "true failed <nil>")
	},
}
