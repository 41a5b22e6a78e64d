package storetest

import (
	"time"

	"fika"
	"fika/internal/store"
)

// causes returns what a request came from.
func (w *world) causes(id fika.RequestID) []store.Cause {
	w.Helper()
	r := must(w.Request(w.ctx, id))(w)
	return must(w.Causes(w.ctx, []store.RequestInfo{r}))(w)[id]
}

var causeTests = map[string]func(*world){
	"a task came from the call that delegated it": func(w *world) {
		f := w.delegate(time.Minute, "a", "b")
		equal(w, "of the first", words(w.causes(f.parent.Request.ID)), "[]")
		for i := range 2 {
			k := w.child(f, i)
			equal(w, "of a child", words(w.causes(k.ID)), words([]store.Cause{{Request: f.parent.Request.ID, Chain: k.Chain, Step: f.steps[i].N}}))
		}
	},
	"a turn came from the messages that mention its agent": func(w *world) {
		coder, reviewer, tester := w.lease("coder"), w.lease("reviewer"), w.lease("tester")
		room := w.chat("room")
		w.post(room, "@coder @reviewer go", "coder", "reviewer")
		first, second := w.claim(coder), w.claim(reviewer)
		equal(w, "of a person's", len(w.causes(first.Request.ID)), 0)
		w.answer(first, "@tester look", "tester")
		w.answer(second, "@tester you too", "tester")
		last := w.claim(tester)
		equal(w, "newest first", words(w.causes(last.Request.ID)), words([]store.Cause{
			{Request: second.Request.ID, Chain: second.Request.Chain}, {Request: first.Request.ID, Chain: first.Request.Chain}}))
	},
	"a request of a chain that nothing else tells of came from the one that began it": func(w *world) {
		l := w.lease("coder")
		first := w.begin(l, "x")
		made := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: w.agent("other").ID, Chain: first.Request.Chain, Depth: 1, Payload: fika.Payload{Prompt: "more"}}))(w)
		equal(w, "of it", words(w.causes(made.Request.ID)), words([]store.Cause{{Request: first.Request.ID, Chain: first.Request.Chain}}))
	},
	"a trace says which calls gave an error": func(w *world) {
		c := w.turn(w.lease("coder"))
		r := must(w.Request(w.ctx, c.Request.ID))(w)
		var failed []bool
		for _, st := range must(w.Trace(w.ctx, []store.RequestInfo{r}))(w)[0].Steps {
			failed = append(failed, st.Failed)
		}
		equal(w, "failed", words(failed), "[false false true false]")
	},
}
