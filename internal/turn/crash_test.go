package turn_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// crash is one request worked by a series of processes that die, until one survives.
type crash struct {
	*world
	claimed store.Claimed
	death   *death
	rounds  int
	text    string         // what the verifiable tool appends to
	began   map[string]int // calls that reached their tool, by call id
	ended   map[string]int // calls whose result was committed when an owner died
	inside  func(c tool.Call, before bool)
}

// newCrash makes a request with two rounds that call all four kinds of tool, and a final
// answer.
func newCrash(t *testing.T, effects ...fika.Effect) *crash {
	w := &crash{world: newWorld(t), began: map[string]int{}, ended: map[string]int{}, rounds: 2}
	var mu sync.Mutex
	do := func(_ context.Context, c tool.Call) (tool.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		if w.inside != nil {
			w.inside(c, true)
		}
		if w.death.died() {
			return tool.Result{}, errDead // a dead process does nothing
		}
		w.began[c.CallID]++
		if c.Name == "verifiable" {
			w.text += c.CallID + " "
		}
		if w.inside != nil {
			w.inside(c, false)
		}
		return tool.Result{Text: "did " + c.CallID}, nil
	}
	var fileMu sync.Mutex
	for _, e := range effects {
		f := fake{w: w.world, name: string(e), effect: e, do: do}
		if e == fika.Verifiable {
			w.tools = append(w.tools, &file{fake: f, mu: &fileMu, text: &w.text})
		} else {
			w.tools = append(w.tools, &f)
		}
	}
	w.model.answer = func(_ context.Context, _ int, r llm.Request) (llm.Response, error) {
		if err := valid(r.Messages); err != nil {
			t.Errorf("the model is asked with an invalid window: %v", err)
		}
		round := 1
		for _, m := range r.Messages {
			if len(m.Calls) > 0 {
				round++
			}
		}
		if round > w.rounds {
			return text("the end"), nil
		}
		var list []llm.Call
		for _, e := range effects {
			for i := range 2 {
				list = append(list, call(fmt.Sprintf("%s-%d-%d", e, round, i), string(e), "{}"))
			}
		}
		return calls(list...), nil
	}
	w.claimed = w.ask("go")
	return w
}

// live runs one process: it works until it dies or the request is over.
func (w *crash) live(d *death) (over bool) {
	w.Helper()
	w.death = d
	cfg := w.config()
	cfg.Store = turn.StoreOf(d.store(w.store))
	res, err := turn.New(cfg).Run(w.Context(), w.claimed)
	switch {
	case err == nil && res.State == fika.Done:
		return true
	case err == nil:
		w.Fatalf("ended as %+v", res)
	case !d.died():
		w.Fatalf("error without a death: %v", err)
	}
	return false
}

// revive gives the request to the next owner, and notes what must not be repeated. It
// returns false if the dead owner had finished after all.
func (w *crash) revive() bool {
	w.Helper()
	steps, err := w.store.Steps(w.Context(), w.claimed.Request.ID)
	w.ok(err)
	for _, s := range steps {
		if s.State == fika.StepDone || s.State == fika.StepInterrupted {
			if _, known := w.ended[s.CallID]; !known {
				w.ended[s.CallID] = w.began[s.CallID]
			}
		}
	}
	w.takeOver()
	rec, err := w.store.Recover(w.Context(), w.lease)
	w.ok(err)
	if len(rec.Dead) > 0 {
		w.Fatal("given up after a crash that followed progress")
	}
	if len(rec.Claimed) == 0 {
		w.state(w.claimed.Request.ID, fika.Done)
		return false
	}
	w.claimed = rec.Claimed[0]
	return true
}

// check verifies what must hold however often an owner died.
func (w *crash) check() {
	w.Helper()
	w.state(w.claimed.Request.ID, fika.Done)
	w.whole(w.claimed.Conversation.ID)
	finals := 0
	for _, e := range w.entries(w.claimed.Conversation.ID) {
		if e.Meta.Final {
			finals++
		}
	}
	if finals != 1 {
		w.Errorf("%d final answers", finals)
	}
	for id, n := range w.began {
		if then, was := w.ended[id]; was && n != then {
			w.Errorf("%s had its result and was run again: %d times, then %d", id, then, n)
		}
		if n > 1 && strings.HasPrefix(id, "unsafe") {
			w.Errorf("%s was started %d times", id, n)
		}
		if n > 1 && strings.HasPrefix(id, "verifiable") {
			w.Errorf("%s happened %d times: %q", id, n, w.text)
		}
	}
}

var allEffects = []fika.Effect{fika.Pure, fika.Idempotent, fika.Verifiable, fika.Unsafe}

// TestDieAtEveryOperation ends the owner at each operation on the store in
// turn, just before and just after it, until one gets through without dying.
func TestDieAtEveryOperation(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, after := range []bool{false, true} {
		deaths := 0
		for k := 1; ; k += step {
			w := newCrash(t, allEffects...)
			d := &death{left: k, after: after}
			if w.live(d) {
				break
			}
			deaths++
			if w.revive() && !w.live(&death{left: -1}) {
				t.Fatalf("operation %d: the next owner died too", k)
			}
			w.check()
			_ = w.store.Close()
			if t.Failed() {
				t.Fatalf("died at operation %d, after it: %v", k, after)
			}
		}
		t.Logf("%d deaths survived (after the operation: %v)", deaths, after)
		if deaths < 40/step {
			t.Errorf("only %d operations: the turn is not what this test is about", deaths)
		}
	}
}

// TestDieInsideTools ends the owner inside each call, before and after its
// effect. What the model is told then depends on the effect.
func TestDieInsideTools(t *testing.T) {
	for _, effect := range allEffects {
		for _, before := range []bool{true, false} {
			calls := []string{"1-0", "1-1", "2-0"}
			if testing.Short() {
				calls = calls[1:2]
			}
			for _, id := range calls {
				victim := string(effect) + "-" + id
				t.Run(fmt.Sprintf("%s before=%v", victim, before), func(t *testing.T) {
					w := newCrash(t, effect)
					w.inside = func(c tool.Call, at bool) {
						if c.CallID == victim && at == before {
							w.death.die()
						}
					}
					if w.live(&death{left: -1}) {
						t.Fatal("nobody died")
					}
					w.inside = nil
					if !w.revive() || !w.live(&death{left: -1}) {
						t.Fatal("not finished")
					}
					w.check()
					want := map[fika.Effect]map[bool]string{
						fika.Pure: {true: "did", false: "did"}, fika.Idempotent: {true: "did", false: "did"},
						fika.Verifiable: {true: "did", false: "target has changed"},
						fika.Unsafe:     {true: "may or may not have run", false: "may or may not have run"},
					}[effect][before]
					for _, r := range w.results(w.claimed.Conversation.ID) {
						if r.Meta.ToolCallID == victim && !strings.Contains(r.Content, want) {
							t.Errorf("the model was told %q, want %q", r.Content, want)
						}
					}
				})
			}
		}
	}
}

// TestDieAgainAndAgain ends several owners in a row at random operations.
func TestDieAgainAndAgain(t *testing.T) {
	seeds := uint64(15)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newCrash(t, allEffects...)
		lives, over := 1, false
		for ; !over; lives++ {
			// Three starts without progress would be given up, rightly: an
			// owner lives long enough to end a step, except every third.
			d := &death{left: 8 + r.IntN(20), after: r.IntN(2) == 0}
			if lives%3 == 0 {
				d.left = 1 + r.IntN(7)
			}
			if over = w.live(d); !over {
				over = !w.revive()
			}
		}
		w.check()
		_ = w.store.Close()
		if t.Failed() {
			t.Fatalf("seed %d, %d owners", seed, lives)
		}
	}
}

// TestNoProgressIsGivenUp: the third start that completes no step is the last.
func TestNoProgressIsGivenUp(t *testing.T) {
	w := newCrash(t, fika.Unsafe)
	for i := 1; ; i++ {
		if w.live(&death{left: 1}) {
			t.Fatal("nobody died")
		}
		w.takeOver()
		rec, err := w.store.Recover(t.Context(), w.lease)
		w.ok(err)
		if len(rec.Dead) == 1 {
			if i != 3 {
				t.Errorf("given up after %d starts", i)
			}
			break
		}
		w.claimed = rec.Claimed[0]
	}
	w.state(w.claimed.Request.ID, fika.Dead)
	w.whole(w.claimed.Conversation.ID)
}

// TestTruncatedCallAfterCrash: a call that must not run does not run after a crash
// either.
func TestTruncatedCallAfterCrash(t *testing.T) {
	w := newWorld(t)
	w.add("push", fika.Unsafe, nil)
	w.model.says(llm.Response{Calls: []llm.Call{call("1", "push", "")}, Stop: llm.StopLength}, text("done"))
	c := w.ask("go")
	d := &death{after: true}
	cfg := w.config()
	s := d.store(w.store)
	d.left = -1
	s.after = func(op string) error {
		if op == "model" {
			d.die()
		}
		return d.later(op)
	}
	cfg.Store = turn.StoreOf(s)
	if _, err := turn.New(cfg).Run(t.Context(), c); !d.died() {
		t.Fatalf("nobody died: %v", err)
	}
	w.takeOver()
	rec, err := w.store.Recover(t.Context(), w.lease)
	w.ok(err)
	w.run(rec.Claimed[0])
	if r := w.results(c.Conversation.ID); len(w.calls()) > 0 || !strings.Contains(r[0].Content, "cut the arguments off") {
		t.Errorf("ran %v, results %+v", w.calls(), r)
	}
}
