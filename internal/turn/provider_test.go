package turn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

func refusal(status int, words string, after time.Duration) error {
	return fika.Wrap(fika.Provider, "model call", &llm.ProviderError{Status: status, Message: words, RetryAfter: after})
}

// patient returns a configuration with patience, in the time of the world.
func (w *world) patient(d time.Duration) turn.Config {
	w.now = func() time.Time { return time.Now().Add(w.clock) }
	cfg := w.config()
	cfg.Patience = d
	return cfg
}

// Trial row U6: a provider that is overloaded for four minutes costs no request. The turn
// waits as a row, so that a process that is killed meanwhile changes nothing, people are
// told once why it waits, and the work is done once.
func TestU6AnOverloadedProviderIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	begin := time.Now()
	w.model.answer = func(_ context.Context, _ int, r llm.Request) (llm.Response, error) {
		if w.clock < 4*time.Minute {
			return llm.Response{}, refusal(529, "Overloaded", 0)
		}
		return text("done"), nil
	}
	c := w.ask("go")
	id := c.Request.ID
	for tries := 0; ; tries++ {
		res, err := turn.New(w.patient(10*time.Minute)).Run(t.Context(), c)
		w.ok(err)
		if res.State == fika.Done {
			break
		}
		if r := w.state(id, fika.Waiting); r.Reason != string(fika.WaitProvider) || tries > 40 {
			t.Fatalf("after %d tries and %s it waits for %q", tries, time.Since(begin), r.Reason)
		}
		if tries == 2 {
			w.takeOver() // the process was killed
		}
		w.clock += longest
		c = w.claim()
	}
	w.state(id, fika.Done)
	w.whole(c.Conversation.ID)
	said := slices.DeleteFunc(w.entries(c.Conversation.ID), func(e fika.Entry) bool { return e.Type != fika.Notice })
	if len(said) != 1 || !strings.Contains(said[0].Content, "Overloaded") || !strings.Contains(said[0].Content, "fika request retry "+string(id)) {
		t.Errorf("people were told %v", said)
	}
	if told := w.told(turn.Retrying); len(told) == 0 || told[0].After <= 0 {
		t.Errorf("nobody was told of the next try: %v", told)
	}
}

// longest is longer than any wait.
const longest = 3*time.Minute + time.Second

// Patience counts from the first failure, whoever the owner is, and ends with a command.
func TestU6PatienceHasAnEnd(t *testing.T) {
	w := newWorld(t)
	w.model.answer = func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, refusal(503, "down", 0)
	}
	c := w.ask("go")
	for range 10 {
		res, err := turn.New(w.patient(5*time.Minute)).Run(t.Context(), c)
		w.ok(err)
		if res.State == fika.RequestFailed {
			if w.clock < 5*time.Minute || !strings.Contains(res.Reason, "fika request retry "+string(c.Request.ID)) {
				t.Errorf("after %s: %s", w.clock, res.Reason)
			}
			return
		}
		w.clock += longest
		w.takeOver()
		c = w.claim()
	}
	t.Error("it never gave up")
}

// What waiting cannot mend ends the turn at once, and so does a retry-after beyond patience.
func TestU6WhatCannotPassIsNotWaitedFor(t *testing.T) {
	for name, err := range map[string]error{
		"bad key":       refusal(401, "invalid key", 0),
		"wrong request": refusal(400, "unknown field", 0),
		"too long":      refusal(429, "slow down", time.Hour),
	} {
		w := newWorld(t)
		w.model.answer = func(context.Context, int, llm.Request) (llm.Response, error) { return llm.Response{}, err }
		res, err := turn.New(w.patient(10*time.Minute)).Run(t.Context(), w.ask("go"))
		w.ok(err)
		if res.State != fika.RequestFailed || len(w.model.asked) != 1 {
			t.Errorf("%s: %s after %d calls", name, res.State, len(w.model.asked))
		}
	}
}

// A person wakes a waiting request at once.
func TestU6AWaitingRequestIsTriedAtOnceByWord(t *testing.T) {
	w := newWorld(t)
	fail := true
	w.model.answer = func(context.Context, int, llm.Request) (llm.Response, error) {
		if fail {
			return llm.Response{}, refusal(429, "slow down", 5*time.Minute)
		}
		return text("done"), nil
	}
	c := w.ask("go")
	_, err := turn.New(w.patient(10*time.Minute)).Run(t.Context(), c)
	w.ok(err)
	fail = false
	if again, err := w.store.Claim(t.Context(), w.lease, store.Limits{}, nil); err != nil || again != nil {
		t.Fatalf("the provider asked for five minutes: %v, %v", again, err)
	}
	woken, err := w.store.RetryNow(t.Context(), c.Request.ID)
	w.ok(err)
	if !woken {
		t.Fatal("it was not waiting")
	}
	if res, err := turn.New(w.patient(10*time.Minute)).Run(t.Context(), w.claim()); err != nil || res.State != fika.Done {
		t.Errorf("%+v, %v", res, err)
	}
}

// Trial row T8: with several models, the next one takes over when a provider fails, whatever
// the reason, and that is shown.
func TestT8TheNextModelTakesOverFromAFailingProvider(t *testing.T) {
	for _, status := range []int{529, 401, 0} {
		w := newWorld(t)
		w.model.answer = func(context.Context, int, llm.Request) (llm.Response, error) {
			return llm.Response{}, refusal(status, "small is down", 0)
		}
		other := &model{}
		other.says(text("done"))
		cfg := w.patient(10 * time.Minute)
		cfg.Choice = turn.Choice{Further: []turn.Model{{Provider: other, ID: "large"}}}
		res, err := turn.New(cfg).Run(t.Context(), w.ask("go"))
		w.ok(err)
		if res.State != fika.Done || res.Outcome.Model != "large" || len(w.model.asked) != 1 || len(other.asked) != 1 {
			t.Errorf("%d: %s by %s: %s", status, res.State, res.Outcome.Model, res.Reason)
		}
		if told := w.told(turn.ModelChosen); len(told) == 0 || !strings.Contains(told[len(told)-1].Text, "small is down") {
			t.Errorf("%d: not shown: %v", status, told)
		}
	}
}

// A request whose provider fails for good waits once for a backup, if its agent has one and no
// model has answered; if none takes it, the provider is asked a last time.
func TestABackupIsWaitedForOnce(t *testing.T) {
	backed := func(cfg *turn.Config) { cfg.Limits.Backed = true }
	badKey := func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, refusal(401, "invalid key", 0)
	}
	for name, c := range map[string]struct {
		set    func(*turn.Config)
		answer func(context.Context, int, llm.Request) (llm.Response, error)
		waits  bool
	}{
		"a bad key": {backed, badKey, true},
		"no patience": {func(cfg *turn.Config) { backed(cfg); cfg.Patience = 0 }, func(context.Context, int, llm.Request) (llm.Response, error) {
			return llm.Response{}, refusal(503, "down", 0)
		}, true},
		"no backup": {func(*turn.Config) {}, badKey, false},
		"what nobody would take": {backed, func(context.Context, int, llm.Request) (llm.Response, error) {
			return llm.Response{}, refusal(400, "unknown field", 0)
		}, false},
		"after a tool call": {backed, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
			if n == 1 {
				return calls(call("1", "look", "{}")), nil
			}
			return llm.Response{}, refusal(401, "invalid key", 0)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("look", fika.Unsafe, nil)
			w.model.answer = c.answer
			asked := w.ask("go")
			cfg := w.patient(time.Minute)
			c.set(&cfg)
			res, err := turn.New(cfg).Run(t.Context(), asked)
			w.ok(err)
			if !c.waits {
				w.state(asked.Request.ID, fika.RequestFailed)
				return
			}
			if r := w.state(asked.Request.ID, fika.Waiting); r.Reason != string(fika.WaitBackup) || !store.MayHandOver(r) || res.State != fika.Waiting {
				t.Fatalf("it waits for %q: %+v", r.Reason, res)
			}
			w.clock += 11 * time.Second
			res, err = turn.New(cfg).Run(t.Context(), w.claim())
			w.ok(err)
			if r := w.state(asked.Request.ID, fika.RequestFailed); len(w.model.asked) != 2 || !strings.Contains(res.Reason, "2 tries") || r.Reason != res.Reason {
				t.Errorf("after %d calls: %s", len(w.model.asked), res.Reason)
			}
			w.whole(asked.Conversation.ID)
		})
	}
}

// The backup begins anew: with its own patience, and without what the agent before it had.
func TestABackupBeginsAnew(t *testing.T) {
	for _, kind := range []fika.RequestKind{fika.AskRequest, fika.TaskRequest} {
		w := newWorld(t)
		w.model.answer = func(context.Context, int, llm.Request) (llm.Response, error) {
			return llm.Response{}, refusal(503, "down", 0)
		}
		id := w.accept(kind, "go")
		cfg := w.patient(0)
		cfg.Limits.Backed = true
		_, err := turn.New(cfg).Run(t.Context(), w.claim())
		w.ok(err)
		from, to := w.lease, w.agent("bran")
		done, err := w.store.HandOver(t.Context(), store.HandOver{Request: id, From: from.Agent, To: to.ID, Why: "the provider of @arya fails"})
		w.ok(err)
		if !done.Done || done.Handed != "the provider of @arya fails: down" {
			t.Fatalf("%s: %+v", kind, done)
		}
		w.clock += time.Hour
		w.lease, err = w.store.Acquire(t.Context(), to.ID, "test", time.Hour, true)
		w.ok(err)
		cfg.Patience, cfg.Limits.Backed = 10*time.Minute, false
		res, err := turn.New(cfg).Run(t.Context(), w.claim())
		w.ok(err)
		if res.Reason != string(fika.WaitProvider) {
			t.Errorf("%s: it is not patient: %+v", kind, res)
		}
		w.clock += longest
		w.model.says(text("done"), text("done"), text("done"))
		c := w.claim()
		res, err = turn.New(cfg).Run(t.Context(), c)
		w.ok(err)
		if last := w.model.asked[len(w.model.asked)-1].Messages; res.State != fika.Done || len(last) != 1 || last[0].Text != "go" {
			t.Errorf("%s: %s after it was shown %+v", kind, res.State, last)
		}
		w.whole(c.Conversation.ID)
		if chain, err := w.store.Chain(t.Context(), c.Request.Chain); err != nil || chain.Turns != 1 {
			t.Errorf("%s: the chain has %d turns, %v", kind, chain.Turns, err)
		}
		if kind == fika.TaskRequest {
			continue
		}
		w.lease, err = w.store.Acquire(t.Context(), from.Agent, "test", time.Hour, true)
		w.ok(err)
		w.run(w.ask("and now?"))
		var seen []string
		for _, m := range w.model.asked[len(w.model.asked)-1].Messages {
			seen = append(seen, string(m.Role)+": "+m.Text)
		}
		if want := []string{"user: go", "user: (handed over from @arya to @bran: do not go on with this unless you are asked to)", "user: and now?"}; !slices.Equal(seen, want) {
			t.Errorf("the first agent sees %q", seen)
		}
	}
}

// Trial rows U1, U2: a turn that a person cuts off keeps what the model had said, and the
// model is not asked for the stopped work again; what the provider reported until then is
// counted.
func TestU1WhatWasSaidBeforeAnInterruptionStays(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cfg := w.config()
	cfg.Model = cutShort{cancel}
	first := w.ask("write a novel")
	res, err := turn.New(cfg).Run(ctx, first)
	w.ok(err)
	if res.State != fika.Cancelled || res.Outcome.Usage.Input != 700 {
		t.Fatalf("%+v", res)
	}
	w.model.says(text("four"))
	w.run(w.ask("what is two and two?"))
	var seen []string
	for _, m := range w.model.asked[0].Messages {
		seen = append(seen, string(m.Role)+": "+m.Text)
	}
	want := []string{
		"user: write a novel", "assistant: It was a dark", "user: (interrupted by the user: do not go on with this unless you are asked to)",
		"user: what is two and two?",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("the next prompt is %q", seen)
	}
	chain, err := w.store.Chain(t.Context(), first.Request.Chain)
	w.ok(err)
	if chain.Tokens != 707 {
		t.Errorf("the chain has %d tokens", chain.Tokens)
	}
}

// cutShort says something until it is cancelled.
type cutShort struct{ cancel context.CancelCauseFunc }

func (m cutShort) Generate(ctx context.Context, _ llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	_ = emit(llm.Event{Kind: llm.TextDelta, Text: "It was "})
	_ = emit(llm.Event{Kind: llm.TextDelta, Text: "a dark"})
	m.cancel(errors.New("cancelled"))
	<-ctx.Done()
	return llm.Response{Usage: fika.Usage{Input: 700, Output: 7}}, fika.Wrap(fika.Interrupted, "model", ctx.Err())
}
