package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
)

// figures returns the figures that are not 0, by what they are about: "requests coder done".
func (w *world) figures() map[string]int64 {
	w.Helper()
	out := map[string]int64{}
	for _, f := range must(w.AllFigures(w.ctx))(w) {
		if f.Value != 0 {
			out[strings.Join(strings.Fields(fmt.Sprint(f.Name, " ", f.Agent, " ", f.Model, " ", f.Tool, " ", f.Outcome)), " ")] += f.Value
		}
	}
	return out
}

// turn has an agent call a tool twice, once in vain, and answer.
func (w *world) turn(l store.Lease) store.Claimed {
	w.Helper()
	c := w.begin(l, "x")
	for i, s := range w.plan(c, 1, fika.Pure, fika.Pure) {
		must(w.BeginTool(w.ctx, c.Fence, s.N, "", ""))(w)
		w.clock.Advance(3 * time.Second)
		must(w.CommitTool(w.ctx, c.Fence, s.N, store.ToolCommit{Text: "out", IsError: i == 1}))(w)
	}
	w.answer(c, "done")
	return c
}

var figureTests = map[string]func(*world){
	"they count what was done": func(w *world) {
		l := w.lease("coder")
		w.turn(l)
		w.accept(fika.TaskRequest, w.agent("reviewer").ID, "later")
		for range 2 { // counting twice changes nothing
			got := w.figures()
			for what, want := range map[string]int64{
				"requests coder done": 1, "request_ms coder": 6000, "tool_calls coder read ok": 1, "tool_calls coder read error": 1, "tool_ms coder read": 6000,
				"model_calls coder m": 1, "input coder m": 100, "output coder m": 10, "cost coder m": 7, "up coder": 1, "going reviewer open": 1, "paused": 0,
			} {
				if got[what] != want {
					w.Errorf("%s: %d, want %d of %v", what, got[what], want, got)
				}
			}
		}
	},
	"they do not fall": func(w *world) {
		l := w.lease("coder")
		first := w.turn(l)
		before := w.figures()
		must(w.SetAllPaused(w.ctx, true))(w)
		w.clock.Advance(30 * time.Hour) // the ledger is settled
		w.figures()
		w.ok(w.DeleteConversation(w.ctx, first.Conversation.ID))
		w.ok(w.Retention.Remove(w.ctx, must2(w.NextOld(w.ctx, store.KeptUsage, w.clock.Now(), store.Place{}))(w), "a.gz"))
		equal(w, "ledger", len(must(w.UsageSince(w.ctx, time.Time{}))(w)), 0)
		after := w.figures()
		equal(w, "paused", after["paused"], 1)
		for what, n := range before {
			if !strings.HasPrefix(what, "up") && after[what] != n {
				w.Errorf("%s: %d, and %d after all was removed", what, n, after[what])
			}
		}
		must(w.SetAllPaused(w.ctx, false))(w)
		w.turn(w.lease("coder"))
		equal(w, "requests", w.figures()["requests coder done"], 2)
		equal(w, "cost", w.figures()["cost coder m"], 14)
		w.clock.Advance(2 * time.Minute) // its lease is over
		w.ok(w.DeleteAgent(w.ctx, w.agent("coder").ID))
		equal(w, "of deleted agents", w.figures()["requests (deleted) done"], 2)
	},
	"several processes count each thing once": func(w *world) {
		l := w.lease("coder")
		for range 20 {
			w.turn(l)
		}
		w.clock.Advance(3 * time.Hour)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := w.CountNew(w.ctx); err != nil {
					w.Error(err)
				}
			})
		}
		all.Wait()
		got := w.figures()
		equal(w, "figures", words(got["requests coder done"], got["tool_calls coder read ok"], got["cost coder m"]), "20 20 140")
	},
	"their number does not grow with conversations, nor without end with tools": func(w *world) {
		l := w.lease("coder")
		count := func(n int) int {
			for i := range n {
				c := w.begin(l, "x")
				s := must(w.CommitModel(w.ctx, c.Fence, store.ModelCommit{Round: 1, Calls: []store.PlannedCall{{CallID: "1", Tool: fmt.Sprint("tool-", n, "-", i), Args: "{}", Effect: fika.Pure}}}))(w).Steps[0]
				must(w.BeginTool(w.ctx, c.Fence, s.N, "", ""))(w)
				must(w.CommitTool(w.ctx, c.Fence, s.N, store.ToolCommit{Text: "out"}))(w)
				w.answer(c, "done")
			}
			return len(must(w.AllFigures(w.ctx))(w))
		}
		first := count(201)
		equal(w, "figures", count(50), first)
		equal(w, "other tools", w.figures()["tool_calls coder (other) ok"], 51)
	},
}

func must2[T, U any](v T, _ U, err error) func(*world) T { return must(v, err) }
