package turn_test

import (
	"errors"
	"strings"
	"testing"

	"fika"
	"fika/internal/turn"
)

// wantsOK is the form that answers have in these tests.
func wantsOK(text string) error {
	if text != "ok" {
		return errors.New(text + " is not ok")
	}
	return nil
}

// TestForm: an answer in the wrong form is sent back with what is wrong with it, at most
// twice, even if another owner goes on in between.
func TestForm(t *testing.T) {
	w := newWorld(t)
	w.model.says(text("one"), text("two"), text("ok"))
	cfg := w.config()
	cfg.Check = wantsOK
	res, err := turn.New(cfg).Run(t.Context(), w.ask("be ok"))
	w.ok(err)
	if res.State != fika.Done || res.Outcome.Answer != "ok" || len(w.model.asked) != 3 {
		t.Fatalf("%s %q after %d calls", res.State, res.Outcome.Answer, len(w.model.asked))
	}
	last := w.model.asked[2].Messages
	if n := len(last); n != 5 || !strings.HasSuffix(last[2].Text, "one is not ok") || last[3].Text != "two" || !strings.HasSuffix(last[4].Text, "two is not ok") {
		t.Errorf("%+v", last)
	}
}

// TestFormNever: three answers in the wrong form fail the turn, and the reason says so.
func TestFormNever(t *testing.T) {
	w := newWorld(t)
	w.model.says(text("one"), text("two"), text("three"), text("ok"))
	cfg := w.config()
	cfg.Check = wantsOK
	c := w.ask("be ok")
	res, err := turn.New(cfg).Run(t.Context(), c)
	w.ok(err)
	if res.State != fika.RequestFailed || len(w.model.asked) != 3 || !strings.Contains(res.Reason, "three is not ok") {
		t.Errorf("%s %q after %d calls", res.State, res.Reason, len(w.model.asked))
	}
	if u := w.state(c.Request.ID, fika.RequestFailed).Outcome.Usage.Input; u != 30 {
		t.Errorf("%d tokens are accounted for", u)
	}
}

// TestFormAfterCrash: the next owner also counts the answers sent back before.
func TestFormAfterCrash(t *testing.T) {
	w := newWorld(t)
	stop := make(chan struct{})
	w.model.says(text("one"), text("two"), text("three"))
	cfg := w.config()
	cfg.Check = func(text string) error {
		if text == "two" {
			close(stop) // it leaves after this step
		}
		return wantsOK(text)
	}
	cfg.Stop = stop
	c := w.ask("be ok")
	res, err := turn.New(cfg).Run(t.Context(), c)
	w.ok(err)
	if res.State != fika.Open || len(w.model.asked) != 2 {
		t.Fatalf("%s after %d calls", res.State, len(w.model.asked))
	}
	w.takeOver()
	cfg = w.config()
	cfg.Check = wantsOK
	if res, err = turn.New(cfg).Run(t.Context(), w.claim()); err != nil || res.State != fika.RequestFailed || len(w.model.asked) != 3 {
		t.Errorf("%s after %d calls: %v", res.State, len(w.model.asked), err)
	}
}

// TestFormCountsPerRequest: answers that an earlier request of the conversation had sent
// back do not count.
func TestFormCountsPerRequest(t *testing.T) {
	w := newWorld(t)
	w.model.says(text("one"), text("two"), text("ok"), text("three"), text("four"), text("ok"))
	cfg := w.config()
	cfg.Check = wantsOK
	for i := range 2 {
		res, err := turn.New(cfg).Run(t.Context(), w.ask("be ok"))
		w.ok(err)
		if res.State != fika.Done || len(w.model.asked) != 3*(i+1) {
			t.Fatalf("request %d: %s %q after %d calls", i+1, res.State, res.Reason, len(w.model.asked))
		}
	}
}
