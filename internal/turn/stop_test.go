package turn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// TestEndedContext: what an ended context means wherever it finds the turn.
func TestEndedContext(t *testing.T) {
	for _, where := range []string{"model", "tool"} {
		for name, tt := range map[string]struct {
			cause  error
			state  fika.RequestState
			reason string
		}{
			"cancel":   {context.Canceled, fika.Cancelled, "cancelled"},
			"words":    {fika.Errorf(fika.Interrupted, "", "enough of this"), fika.Cancelled, "enough of this"},
			"deadline": {context.DeadlineExceeded, fika.Cancelled, "its deadline has passed"},
			"stop":     {turn.ErrStop, fika.Open, "the process is stopping"},
		} {
			t.Run(where+" "+name, func(t *testing.T) {
				w := newWorld(t)
				ctx, cancel := context.WithCancelCause(t.Context())
				hang := where
				w.add("push", fika.Unsafe, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					if hang == "tool" {
						cancel(tt.cause)
						<-ctx.Done()
						return tool.Result{}, fika.Wrap(fika.Interrupted, "push", ctx.Err())
					}
					return tool.Result{Text: "pushed"}, nil
				})
				w.model.answer = func(ctx context.Context, n int, r llm.Request) (llm.Response, error) {
					if last := r.Messages[len(r.Messages)-1]; last.Role == llm.ToolRole {
						if hang == "model" {
							cancel(tt.cause)
							<-ctx.Done()
							return llm.Response{}, fika.Wrap(fika.Interrupted, "model", ctx.Err())
						}
						return text("done"), nil
					}
					return calls(call("1", "push", "{}")), nil
				}
				c := w.ask("go")
				res, err := turn.New(w.config()).Run(ctx, c)
				w.ok(err)
				if res.State != tt.state || res.Reason != tt.reason {
					t.Fatalf("%+v", res)
				}
				r := w.state(c.Request.ID, tt.state)
				if tt.state != fika.Open {
					w.whole(c.Conversation.ID)
					return
				}
				if r.Attempts != 0 {
					t.Errorf("a polite stop cost an attempt: %d", r.Attempts)
				}
				hang = ""
				w.takeOver()
				if res := w.run(w.claim()); res.State != fika.Done {
					t.Fatalf("%+v", res)
				}
				w.whole(c.Conversation.ID)
				if n := len(w.calls()); n != 1 {
					t.Errorf("the unsafe tool ran %d times", n)
				}
			})
		}
	}
}

// TestStopChannel: a closed Stop lets the step finish and hands the request back;
// finished steps are not repeated.
func TestStopChannel(t *testing.T) {
	w := newWorld(t)
	stop := make(chan struct{})
	w.add("push", fika.Unsafe, func(context.Context, tool.Call) (tool.Result, error) {
		close(stop)
		return tool.Result{Text: "pushed"}, nil
	})
	w.model.says(calls(call("1", "push", "{}")), text("done"))
	c := w.ask("go")
	cfg := w.config()
	cfg.Stop = stop
	res, err := turn.New(cfg).Run(t.Context(), c)
	w.ok(err)
	if res.State != fika.Open {
		t.Fatalf("%+v", res)
	}
	again := w.claim()
	if !again.Resumed {
		t.Error("not resumed")
	}
	res = w.run(again)
	if res.Outcome.Answer != "done" || len(w.calls()) != 1 || len(w.model.asked) != 2 {
		t.Errorf("%+v, ran %v, %d model calls", res, w.calls(), len(w.model.asked))
	}
	if want := (fika.Usage{Input: 20, Output: 7}); res.Outcome.Usage != want {
		t.Errorf("usage %+v, want %+v", res.Outcome.Usage, want)
	}
	w.whole(c.Conversation.ID)
}

// TestPause: the running step ends, the next does not begin; resume goes on.
func TestPause(t *testing.T) {
	w := newWorld(t)
	var c store.Claimed
	w.add("push", fika.Unsafe, func(_ context.Context, call tool.Call) (tool.Result, error) {
		if call.CallID == "1" {
			_, err := w.store.SetPaused(t.Context(), c.Conversation.ID, true)
			w.ok(err)
		}
		return tool.Result{Text: "pushed " + call.CallID}, nil
	})
	w.model.says(calls(call("1", "push", "{}"), call("2", "push", "{}")), text("done"))
	c = w.ask("go")
	if res := w.run(c); res.State != fika.Waiting || res.Reason != "paused" {
		t.Fatalf("%+v", res)
	}
	w.state(c.Request.ID, fika.Waiting)
	if again, err := w.store.Claim(t.Context(), w.lease, store.Limits{}, nil); err != nil || again != nil {
		t.Fatalf("claimed %v while paused, %v", again, err)
	}
	_, err := w.store.SetPaused(t.Context(), c.Conversation.ID, false)
	w.ok(err)
	if res := w.run(w.claim()); res.State != fika.Done {
		t.Fatalf("%+v", res)
	}
	if len(w.calls()) != 2 || len(w.model.asked) != 2 {
		t.Errorf("ran %v, %d model calls", w.calls(), len(w.model.asked))
	}
	w.whole(c.Conversation.ID)
}

// TestPauseKeepsTheAnswer: a final text that was on its way is stored.
func TestPauseKeepsTheAnswer(t *testing.T) {
	w := newWorld(t)
	var c store.Claimed
	w.model.answer = func(context.Context, int, llm.Request) (llm.Response, error) {
		_, err := w.store.SetAllPaused(t.Context(), true)
		return text("done"), err
	}
	c = w.ask("go")
	if res := w.run(c); res.State != fika.Done {
		t.Errorf("%+v", res)
	}
}

// TestPauseLeavesTerminals: a person who waits at a terminal is not held up, and the
// step is marked as started all the same.
func TestPauseLeavesTerminals(t *testing.T) {
	w := newWorld(t)
	w.add("push", fika.Unsafe, nil)
	w.model.answer = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		_, err := w.store.SetAllPaused(t.Context(), true)
		if n == 1 {
			return calls(call("1", "push", "{}")), err
		}
		return text("done"), err
	}
	c := w.foreground("go")
	if res := w.run(c); res.State != fika.Done {
		t.Fatalf("%+v", res)
	}
	steps, err := w.store.Steps(t.Context(), c.Request.ID)
	w.ok(err)
	if steps[1].StartedAt.IsZero() {
		t.Error("the tool ran without being marked started")
	}
}

// TestCancelBetweenCalls: the first call ends, the second never starts.
func TestCancelBetweenCalls(t *testing.T) {
	w := newWorld(t)
	var c store.Claimed
	w.add("push", fika.Unsafe, func(context.Context, tool.Call) (tool.Result, error) {
		_, err := w.store.Cancel(t.Context(), c.Request.ID, "enough")
		return tool.Result{Text: "pushed"}, err
	})
	w.model.says(calls(call("1", "push", "{}"), call("2", "push", "{}")))
	c = w.ask("go")
	if res := w.run(c); res.State != fika.Cancelled || res.Reason != "enough" {
		t.Fatalf("%+v", res)
	}
	w.whole(c.Conversation.ID)
	if r := w.results(c.Conversation.ID); len(w.calls()) != 1 || !strings.Contains(r[1].Content, "not run") {
		t.Errorf("ran %v, results %+v", w.calls(), r)
	}
}

func TestDeadline(t *testing.T) {
	w := newWorld(t)
	w.add("push", fika.Unsafe, func(context.Context, tool.Call) (tool.Result, error) {
		w.clock = time.Hour
		return tool.Result{Text: "pushed"}, nil
	})
	w.model.says(calls(call("1", "push", "{}"), call("2", "push", "{}")))
	a, err := w.store.Accept(t.Context(), store.NewRequest{Kind: fika.AskRequest, Agent: w.lease.Agent,
		Deadline: time.Now().Add(time.Minute), Payload: fika.Payload{Prompt: "go"}})
	w.ok(err)
	res := w.run(w.claim())
	if res.State != fika.Cancelled || res.Kind != fika.Limit {
		t.Errorf("%+v", res)
	}
	w.state(a.Request.ID, fika.Cancelled)
	if r := w.results(a.Conversation.ID); len(w.calls()) != 1 || !strings.Contains(r[1].Content, "not run") {
		t.Errorf("ran %v, results %+v", w.calls(), r)
	}
}

// TestLostFence: once another owner has the request, nothing more is written or run.
func TestLostFence(t *testing.T) {
	w := newWorld(t)
	var rec store.Recovery
	w.add("push", fika.Unsafe, func(context.Context, tool.Call) (tool.Result, error) {
		w.takeOver()
		var err error
		rec, err = w.store.Recover(t.Context(), w.lease)
		return tool.Result{Text: "pushed"}, err
	})
	w.model.says(calls(call("1", "push", "{}"), call("2", "push", "{}")), text("done"))
	c := w.ask("go")
	before := len(w.entries(c.Conversation.ID))
	_, err := turn.New(w.config()).Run(t.Context(), c)
	if !fika.IsKind(err, fika.Lost) {
		t.Fatalf("error is %v", err)
	}
	if got := len(w.entries(c.Conversation.ID)); got != before+2 {
		t.Errorf("%d entries, want the two calls more than %d", got, before)
	}
	if len(rec.Claimed) != 1 || len(rec.Orphans) != 1 {
		t.Fatalf("recovered %+v", rec)
	}
	w.tools = nil
	w.add("push", fika.Unsafe, nil)
	if res := w.run(rec.Claimed[0]); res.State != fika.Done {
		t.Fatalf("%+v", res)
	}
	w.whole(c.Conversation.ID)
	if r := w.results(c.Conversation.ID); !strings.Contains(r[0].Content, "may or may not have run") || r[1].Meta.IsError {
		t.Errorf("results %+v", r)
	}
	if d := cmp.Diff([]string{"push {}", "push {}"}, w.calls()); d != "" {
		t.Error(d)
	}
}

// TestLostLease: an owner that learns that its lease is lost before the next owner has
// looked at its requests ends none of them, although it still could.
func TestLostLease(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	w.model.answer = func(ctx context.Context, n int, _ llm.Request) (llm.Response, error) {
		if n > 1 {
			return text("done"), nil
		}
		w.takeOver()
		cancel(fika.Errorf(fika.Lost, "renew lease", "it is another's"))
		<-ctx.Done()
		return llm.Response{}, fika.Wrap(fika.Interrupted, "model", ctx.Err())
	}
	c := w.ask("go")
	if res, err := turn.New(w.config()).Run(ctx, c); !fika.IsKind(err, fika.Lost) {
		t.Fatalf("%+v, %v", res, err)
	}
	w.state(c.Request.ID, fika.Running)
	rec, err := w.store.Recover(t.Context(), w.lease)
	w.ok(err)
	if len(rec.Claimed) != 1 {
		t.Fatalf("recovered %+v", rec)
	}
	if res := w.run(rec.Claimed[0]); res.State != fika.Done {
		t.Fatalf("%+v", res)
	}
	w.whole(c.Conversation.ID)
}

// TestStorageBusy: a store that refuses for a while loses nothing that was paid for, and
// nothing is done twice.
func TestStorageBusy(t *testing.T) {
	for _, op := range []string{"before", "compaction", "signal", "model", "begin", "tool", "finish"} {
		t.Run(op, func(t *testing.T) {
			w := newWorld(t)
			w.add("push", fika.Unsafe, nil)
			w.model.says(calls(call("1", "push", "{}")), text("done"))
			refusals := 2
			cfg := w.config()
			cfg.Store = turn.StoreOf(&faulty{Store: w.store, before: func(at string) error {
				if at == op && refusals > 0 {
					refusals--
					return fika.Errorf(fika.Storage, at, "disk is full")
				}
				return nil
			}})
			c := w.ask("go")
			res, err := turn.New(cfg).Run(t.Context(), c)
			w.ok(err)
			if res.Outcome.Answer != "done" || len(w.calls()) != 1 || len(w.model.asked) != 2 {
				t.Errorf("%+v, ran %v, %d model calls", res, w.calls(), len(w.model.asked))
			}
			if got := len(w.told(turn.StorageBusy)); got != 2 {
				t.Errorf("told %d times that storage is busy", got)
			}
			w.whole(c.Conversation.ID)
		})
	}
}

// TestGrace: a foreground run gives up after its grace, with the answer.
func TestGrace(t *testing.T) {
	w := newWorld(t)
	w.model.says(text("paid for"))
	start, n := time.Now(), 0
	w.now = func() time.Time { n++; return start.Add(time.Duration(n) * 20 * time.Second) }
	cfg := w.config()
	cfg.Grace = time.Minute
	cfg.Store = turn.StoreOf(&faulty{Store: w.store, before: func(at string) error {
		if at == "finish" {
			return fika.Errorf(fika.Storage, at, "disk is full")
		}
		return nil
	}})
	c := w.foreground("go")
	res, err := turn.New(cfg).Run(t.Context(), c)
	if !fika.IsKind(err, fika.Storage) || !res.Unsaved || res.State != fika.Done || res.Outcome.Answer != "paid for" {
		t.Errorf("%+v, error %v", res, err)
	}
	w.state(c.Request.ID, fika.Running)
	w.takeOver()
	rec, err := w.store.Recover(t.Context(), w.lease)
	w.ok(err)
	if !slices.Contains(rec.Interrupted, c.Request.ID) {
		t.Errorf("recovered %+v", rec)
	}
}

// TestStopWhileStorageRefuses: reading is no reason to hold a process up.
func TestStopWhileStorageRefuses(t *testing.T) {
	w := newWorld(t)
	w.model.says(text("done"))
	stop := make(chan struct{})
	cfg := w.config()
	cfg.Stop = stop
	var once bool
	cfg.Store = turn.StoreOf(&faulty{Store: w.store, before: func(at string) error {
		if at != "before" {
			return nil
		}
		if !once {
			once = true
			close(stop)
		}
		return fika.Errorf(fika.Storage, at, "disk is broken")
	}})
	c := w.ask("go")
	_, err := turn.New(cfg).Run(t.Context(), c)
	if !fika.IsKind(err, fika.Storage) {
		t.Errorf("error %v", err)
	}
	w.state(c.Request.ID, fika.Running) // for the next owner
}

// TestNoRequestIsLeftRunning: an unforeseen error ends the request.
func TestNoRequestIsLeftRunning(t *testing.T) {
	for _, op := range []string{"before", "compaction", "signal", "model", "begin", "tool"} {
		t.Run(op, func(t *testing.T) {
			w := newWorld(t)
			w.add("push", fika.Unsafe, nil)
			w.model.says(calls(call("1", "push", "{}")), text("done"))
			cfg := w.config()
			cfg.Store = turn.StoreOf(&faulty{Store: w.store, before: func(at string) error {
				if at == op {
					return errors.New("something odd")
				}
				return nil
			}})
			c := w.ask("go")
			res, err := turn.New(cfg).Run(t.Context(), c)
			w.ok(err)
			if res.State != fika.RequestFailed || !strings.Contains(res.Reason, "something odd") {
				t.Errorf("%+v", res)
			}
			w.state(c.Request.ID, fika.RequestFailed)
			w.whole(c.Conversation.ID)
		})
	}
}

// TestHalted: a process that was halted after its claim for longer than its lease does
// not call the model: another owner has the agent.
func TestHalted(t *testing.T) {
	w := newWorld(t)
	w.model.says(text("hello"))
	c := w.ask("hi")
	c.Asked = c.Asked.Add(-time.Minute)
	w.takeOver()
	_, err := w.store.Recover(t.Context(), w.lease)
	w.ok(err)
	if _, err := turn.New(w.config()).Run(t.Context(), c); !fika.IsKind(err, fika.Lost) {
		t.Errorf("the turn ends with %v", err)
	}
	if n := len(w.model.asked); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}
