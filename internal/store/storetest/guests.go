package storetest

import (
	"time"

	"fika"
	"fika/internal/store"
)

var guestTests = map[string]func(*world){
	"a session is kept for an agent and a conversation": func(w *world) {
		l := w.lease("claude")
		c := w.begin(l, "x")
		kept := func() store.GuestSession {
			return must(w.GuestSession(w.ctx, l.Agent, c.Conversation.ID))(w)
		}
		equal(w, "at first", kept(), store.GuestSession{})
		g := store.GuestSession{Program: "p", Session: "s-1", Seen: 0, Upto: 7, Prompt: "d", Cost: 5}
		equal(w, "signal", must(w.PromptGuest(w.ctx, c.Fence, g))(w), store.Signal{})
		g.Request = c.Request.ID
		equal(w, "prompted", kept(), g)
		w.ok(w.SettleGuest(w.ctx, c.Fence, 9))
		g.Settled, g.Seen, g.Cost = true, 7, 9
		equal(w, "settled", kept(), g)
		w.answer(c, "done")
		_, err := w.PromptGuest(w.ctx, c.Fence, g)
		w.refused(err, fika.Lost)
		w.refused(w.SettleGuest(w.ctx, c.Fence, 1), fika.Lost)
		equal(w, "after that", kept(), g)
		equal(w, "of another agent", must(w.GuestSession(w.ctx, w.agent("other").ID, c.Conversation.ID))(w), store.GuestSession{})
	},
	"what agents no longer see, guests begin without": func(w *world) {
		l, room := w.lease("claude"), w.chat("room")
		told := func(text string) string {
			w.post(room, text, "claude")
			c := w.claim(l)
			must(w.PromptGuest(w.ctx, c.Fence, store.GuestSession{Program: "p", Session: text}))(w)
			w.ok(w.SettleGuest(w.ctx, c.Fence, 0))
			w.answer(c, "done")
			return must(w.GuestSession(w.ctx, l.Agent, room.ID))(w).Session
		}
		gone := func(after string) {
			equal(w, after, must(w.GuestSession(w.ctx, l.Agent, room.ID))(w), store.GuestSession{})
		}
		equal(w, "told", told("one"), "one")
		w.compactAll(room)
		gone("cleared")
		equal(w, "told again", told("two"), "two")
		r := must(w.Rewind(w.ctx, room.ID, 4, false, "ann", ""))(w)
		gone("rewound")
		equal(w, "told once more", told("three"), "three")
		must(w.Rewind(w.ctx, room.ID, 0, true, "ann", ""))(w)
		gone("put back " + r.Entry.Content)
	},
	"a turn that is to stop is not prompted": func(w *world) {
		l := w.lease("claude")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		must(w.Cancel(w.ctx, c.Request.ID, "enough"))(w)
		equal(w, "signal", must(w.PromptGuest(w.ctx, c.Fence, store.GuestSession{Session: "s"}))(w).Cancel, true)
		equal(w, "kept", must(w.GuestSession(w.ctx, l.Agent, c.Conversation.ID))(w), store.GuestSession{})
		n, sig, err := w.HoldApproval(w.ctx, c.Fence, store.Approval{Step: 1, Tool: "bash"}, w.clock.Now().Add(time.Hour))
		w.ok(err)
		equal(w, "nor asked about", n == 0 && sig.Cancel, true)
	},
	"a running turn waits for an answer": func(w *world) {
		l := w.lease("claude")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		step := w.plan(c, 1, fika.Unsafe)[0]
		hold := func() int64 {
			n, sig, err := w.HoldApproval(w.ctx, c.Fence, store.Approval{Step: step.N, Tool: "bash", Args: `{"command":"x"}`, Bound: "b"}, w.clock.Now().Add(time.Hour))
			w.ok(err)
			equal(w, "signal", sig, store.Signal{})
			return n
		}
		n := hold()
		w.state(c.Request.ID, fika.Running)
		equal(w, "open", len(must(w.OpenApprovals(w.ctx))(w)), 1)
		w.decide(n, true)
		equal(w, "answered", must(w.Approval(w.ctx, n))(w).State, store.ApprovalGiven)
		_, err := w.AnswerApproval(w.ctx, n, store.ApprovalAnswer{By: "ann"})
		w.refused(err, fika.Conflict)
		equal(w, "an answer that came first stays", must(w.EndHeld(w.ctx, c.Fence, n))(w).State, store.ApprovalGiven)

		n = hold()
		equal(w, "taken back", must(w.EndHeld(w.ctx, c.Fence, n))(w).State, store.ApprovalExpired)
		_, err = w.AnswerApproval(w.ctx, n, store.ApprovalAnswer{Allow: true, By: "ann"})
		w.refused(err, fika.Conflict)

		n = hold()
		w.answer(c, "without it")
		equal(w, "of a turn that has ended", len(must(w.OpenApprovals(w.ctx))(w)), 0)
		_, err = w.AnswerApproval(w.ctx, n, store.ApprovalAnswer{Allow: true, By: "ann"})
		w.refused(err, fika.Conflict)
		_, err = w.EndHeld(w.ctx, c.Fence, n)
		w.refused(err, fika.Lost)
	},
}
