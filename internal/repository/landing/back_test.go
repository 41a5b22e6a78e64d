package landing_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/repository/landing"
	"fika/internal/store"
)

// submit has an agent offer a file in a request of its own.
func (w *world) submit(file, text string) fika.Offer {
	w.Helper()
	a, err := w.store.EnsureAgent(w.Context(), store.NewAgent{Name: "coder"})
	w.must(err)
	if w.lease.ID == "" {
		w.lease, err = w.store.Acquire(w.Context(), a.ID, "test", time.Hour, true)
		w.must(err)
		_, err = w.store.Accept(w.Context(), store.NewRequest{Kind: fika.TaskRequest, Agent: a.ID, Payload: fika.Payload{Prompt: "build it"}})
		w.must(err)
		w.claim()
		w.git("branch", "theirs", "mine")
	}
	w.git("switch", "-q", "theirs")
	w.write("shop/"+file, text)
	w.commit(file)
	tip := w.git("rev-parse", "HEAD")
	w.git("switch", "-q", "mine")
	o, err := w.store.SubmitOffer(w.Context(), fika.Offer{Source: "@coder", Agent: "coder", By: "@coder", Into: "main", Tip: tip, Request: w.turn.Request.ID, Chain: w.turn.Request.Chain}, "")
	w.must(err)
	return o
}

// claim has the agent begin what waits for it.
func (w *world) claim() {
	w.Helper()
	c, err := w.store.Claim(w.Context(), w.lease, store.Limits{}, nil)
	w.must(err)
	if c == nil {
		w.Fatal("nothing to do for the agent")
	}
	w.turn = *c
}

// ends has the agent end its turn.
func (w *world) ends() {
	w.Helper()
	_, err := w.store.Finish(w.Context(), w.turn.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 100, Text: "done"}})
	w.must(err)
}

// offered returns an offer as it stands.
func (w *world) offered(n fika.OfferNumber) fika.Offer {
	w.Helper()
	o, err := w.store.Offer(w.Context(), n)
	w.must(err)
	return o
}

// shown returns what the agent was last shown of an offer.
func (w *world) shown() string {
	w.Helper()
	list, err := w.store.Entries(w.Context(), store.EntryQuery{Conversation: w.turn.Conversation.ID})
	w.must(err)
	text := ""
	for _, e := range list {
		if e.From == "landing" {
			text = e.Content
		}
	}
	return text
}

// What an agent has offered comes back to it with what is wrong, is offered again and lands;
// after max_rounds, or if its agent leaves it, a person decides.
func TestWhatAnAgentHasOfferedComesBackToIt(t *testing.T) {
	w := newWorld(t)
	w.offer("one", "shared", "1\n")
	w.run()
	w.submit("shared", "2\n")
	w.run()
	o := w.offered(2)
	if o.State != fika.OfferRework || o.Round != 1 || o.Rework == "" || !strings.Contains(o.Reason, "conflicts with main in shared") {
		t.Fatalf("%+v", o)
	}
	w.ends()
	w.claim()
	base := w.git("rev-parse", "main")
	if text := w.shown(); !strings.Contains(text, "for the 1st of at most 2 times: it conflicts with main in shared") || !strings.Contains(text, "\n      <<<<<<< ") || !strings.Contains(text, "git merge "+base) {
		t.Errorf("%s", text)
	}
	w.git("switch", "-q", "theirs")
	_ = exec.Command("git", "-C", w.repo, "merge", "-q", base).Run()
	w.write("shop/shared", "1\n2\n")
	w.commit("both")
	w.submit("broken", "")
	w.run()
	if o = w.offered(2); o.State != fika.OfferRework || o.Round != 2 || o.Reason != "sh check.sh fails" {
		t.Fatalf("%+v", o)
	}
	w.ends()
	w.claim()
	w.git("switch", "-q", "theirs")
	w.git("rm", "-q", "broken")
	w.submit("fine", "")
	w.run()
	if o = w.offered(2); o.State != fika.OfferLanded || o.Round != 2 || w.git("show", "main:shared") != "1\n2" {
		t.Fatalf("%+v", o)
	}

	w.submit("broken", "again")
	w.run()
	w.ends()
	w.claim()
	w.submit("more", "")
	w.run()
	w.ends()
	w.claim()
	w.submit("yet more", "")
	w.run()
	if o = w.offered(3); o.State != fika.OfferHeld || o.Reason != "sh check.sh fails, after it came back 2 times (max_rounds)" {
		t.Fatalf("%+v", o)
	}
	_, err := w.store.ChangeOffer(t.Context(), 3, func(o *fika.Offer) error {
		o.State, o.Round = fika.OfferWaiting, 0
		return nil
	})
	w.must(err)
	w.run()
	w.ends()
	w.claim()
	w.ends()
	w.run()
	if o = w.offered(3); o.State != fika.OfferHeld || o.Reason != "sh check.sh fails, and @coder has not offered it again" || o.Output == "" && o.Round != 1 {
		t.Fatalf("%+v", o)
	}
}

// A process that dies at any step of sending an offer back leaves one request for each round.
func TestAnOfferComesBackOnce(t *testing.T) {
	first := 1
	if testing.Short() { // when it comes back
		first = 9
	}
	for at := first; at <= 10; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			w := newWorld(t)
			w.submit("broken", "")
			w.killAt = at
			w.run()
			list, err := w.store.ListRequests(t.Context(), store.RequestFilter{})
			w.must(err)
			if o := w.offered(1); o.State != fika.OfferRework || o.Round != 1 || len(list) != 2 || w.steps < at {
				t.Errorf("%d requests, %d steps, %+v", len(list), w.steps, o)
			}
		})
	}
}

// The check of an offer that nobody wants any more ends at once.
func TestAnOfferThatIsCancelledIsNotCheckedToItsEnd(t *testing.T) {
	w := newWorld(t)
	w.offer("one", "a", "1\n")
	w.offer("two", "b", "2\n")
	ends := 0
	q := landing.New(landing.Options{
		Store: w.offers(), Repository: func(string) landing.Repository { return w.target }, Now: time.Now, Clean: func(string) {}, Poll: time.Millisecond,
		Settings: func() (landing.Settings, error) { return landing.Settings{Check: "x", How: w.how}, nil },
		Check: func(ctx context.Context, _, _, _ string) (landing.Verdict, error) {
			if o := w.offered(1); o.State == fika.OfferTrying {
				_, err := w.store.ChangeOffer(w.Context(), 1, func(o *fika.Offer) error { o.State = fika.OfferCancelled; return nil })
				w.must(err)
				<-ctx.Done()
				ends++
				return landing.Verdict{}, ctx.Err()
			}
			return landing.Verdict{Green: true}, nil
		},
	})
	if _, err := q.Step(t.Context()); !fika.IsKind(err, fika.Conflict) || ends != 1 {
		t.Errorf("%v, %d ended", err, ends)
	}
	for did := true; did; {
		var err error
		did, err = q.Step(t.Context())
		w.must(err)
	}
	if got := w.states(); got != "1 cancelled, 2 landed" {
		t.Error(got)
	}
}
