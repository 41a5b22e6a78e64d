package landing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// reviewer makes an agent that looks at what others offer, and returns its lease.
func (w *world) reviewer(name fika.AgentName) store.Lease {
	w.Helper()
	a, err := w.store.EnsureAgent(w.Context(), store.NewAgent{Name: name})
	w.must(err)
	w.reviewers = append(w.reviewers, name)
	l, err := w.store.Acquire(w.Context(), a.ID, "test", time.Hour, true)
	w.must(err)
	return l
}

// asked claims the next review of a reviewer; nil if there is none.
func (w *world) asked(l store.Lease) *store.Claimed {
	w.Helper()
	c, err := w.store.Claim(w.Context(), l, store.Limits{}, nil)
	w.must(err)
	return c
}

// says has a reviewer answer, and the queue go on.
func (w *world) says(l store.Lease, answer string) store.Claimed {
	w.Helper()
	c := w.asked(l)
	if c == nil {
		w.Fatalf("nobody asks for a review: %+v", w.offered(1))
	}
	fin := store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: answer}}
	if answer == "" {
		fin = store.Finish{State: fika.RequestFailed, Reason: "the model is gone"}
	}
	_, err := w.store.Finish(w.Context(), c.Fence, fin)
	w.must(err)
	w.run()
	return *c
}

// What an agent offers lands only when all reviewers call it good: it comes back with their
// notes, and is looked at again.
func TestReviewersLookBeforeItLands(t *testing.T) {
	w := newWorld(t)
	one, two := w.reviewer("critic"), w.reviewer("tester")
	w.reviewers = append(w.reviewers, "coder") // nobody reviews their own work
	w.offer("one", "a", "1\n")
	w.submit("bad", "secret\n")
	w.run()
	if got := w.states(); got != "1 landed, 2 review" {
		t.Fatal(got)
	}
	c := w.says(one, `{"ok":true,"notes":""}`)
	if text := c.Prompt.Content; !strings.Contains(text, "@coder offers work for main") || !strings.Contains(text, "\n    +secret") || c.Request.Payload.Form == nil || c.Prompt.Meta.Writer != fika.ByTool {
		t.Errorf("%s", text)
	}
	if got := w.offered(2).State; got != fika.OfferReviewed {
		t.Fatal(got)
	}
	w.says(two, `{"ok":false,"notes":"line 1 is a secret"}`)
	if o := w.offered(2); o.State != fika.OfferRework || o.Reason != "@tester wants changes" || o.Round != 1 {
		t.Fatalf("%+v", o)
	}
	w.ends()
	w.claim()
	if text := w.shown(); !strings.Contains(text, "@tester wants changes") || !strings.Contains(text, "    line 1 is a secret") || strings.Contains(text, "on top of") {
		t.Errorf("%s", text)
	}
	w.submit("bad", "public\n")
	w.run()
	w.says(one, `{"ok":true,"notes":""}`)
	w.says(two, `{"ok":true,"notes":"fine"}`)
	if o := w.offered(2); o.State != fika.OfferLanded || len(o.Reviews) != 4 {
		t.Fatalf("%+v", o)
	}
	w.holds()

	w.submit("more", "x\n")
	w.run()
	w.says(one, "")
	w.says(two, `{"ok":true,"notes":""}`)
	if o := w.offered(3); o.State != fika.OfferHeld || o.Reason != "@critic has not reviewed it: the model is gone" {
		t.Fatalf("%+v", o)
	}

	w.submit("yet", "x\n")
	w.reviewers = []fika.AgentName{"nobody"}
	_, err := w.store.ChangeOffer(t.Context(), 3, func(o *fika.Offer) error { o.State = fika.OfferWaiting; return nil })
	w.must(err)
	w.run()
	if o := w.offered(3); o.State != fika.OfferHeld || !strings.Contains(o.Reason, "there is no @nobody") {
		t.Fatalf("%+v", o)
	}
}

// An offer that is cancelled, or offered anew, is not looked at any more.
func TestAReviewEndsWithItsOffer(t *testing.T) {
	w := newWorld(t)
	critic := w.reviewer("critic")
	w.submit("a", "1\n")
	w.run()
	first := w.offered(1).Reviews[0].Request
	w.submit("a", "2\n")
	w.run()
	if r, err := w.store.Request(t.Context(), first); err != nil || r.State != fika.Cancelled {
		t.Fatalf("%+v, %v", r, err)
	}
	_, err := w.store.ChangeOffer(t.Context(), 1, func(o *fika.Offer) error { o.State = fika.OfferCancelled; return nil })
	w.must(err)
	if c := w.asked(critic); c != nil {
		t.Errorf("%+v", c.Request)
	}
}

// A process that dies at any step of a review asks for one of each commit.
func TestAReviewIsAskedForOnce(t *testing.T) {
	for at := 1; at <= 4; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			w := newWorld(t)
			critic := w.reviewer("critic")
			w.submit("a", "1\n")
			w.killAt = at
			w.run()
			w.says(critic, `{"ok":true,"notes":""}`)
			if o := w.offered(1); o.State != fika.OfferLanded || len(o.Reviews) != 1 || w.steps < at {
				t.Errorf("%d steps, %+v", w.steps, o)
			}
		})
	}
}
