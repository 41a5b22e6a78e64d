package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// checkedWork is a task with a check, in files that a test changes.
type checkedWork struct {
	turn.WorkCheck
	files string
}

func (w *checkedWork) Check(context.Context) (turn.WorkCheck, error) { return w.WorkCheck, nil }
func (w *checkedWork) Files(context.Context) (string, error)         { return w.files, nil }
func (w *checkedWork) HandedIn(context.Context) (*store.HandedIn, error) {
	return &store.HandedIn{ID: "work"}, nil
}

// checks adds a command tool whose results are these, one after the other, and returns how
// often it was called.
func (w *world) checks(results ...tool.Result) *int {
	n := new(int)
	w.addBash(func(context.Context, tool.Call) (tool.Result, error) {
		*n++
		return results[min(*n, len(results))-1], nil
	})
	return n
}

// addBash gives the world a tool that runs commands.
func (w *world) addBash(do func(context.Context, tool.Call) (tool.Result, error)) {
	params := json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"timeout_seconds":{"type":"integer"}}}`)
	w.tools = append(w.tools, &fake{w: w, name: "bash", effect: fika.Unsafe, params: params, do: do})
}

func (w *world) runTask(c store.Claimed, work turn.Work) turn.Result {
	w.Helper()
	cfg := w.config()
	cfg.Work = work
	res, err := turn.New(cfg).Run(w.Context(), c)
	w.ok(err)
	return res
}

// TestCheckOfATask: an answer is the outcome once the check has passed; one that has failed
// is shown to the agent in the same turn.
func TestCheckOfATask(t *testing.T) {
	w := newWorld(t)
	ran := w.checks(tool.Result{Text: "2 tests\nfail", IsError: true}, tool.Result{Text: "ok"})
	w.model.says(text("it is done"), text("now it is"))
	c := w.ask("go")
	res := w.runTask(c, &checkedWork{WorkCheck: turn.WorkCheck{Command: "make test", Rounds: 1}})
	if res.State != fika.Done || res.Outcome.Answer != "now it is" || res.Outcome.Entry == "" || *ran != 2 {
		t.Fatalf("%+v after %d checks", res, *ran)
	}
	w.whole(c.Conversation.ID)
	for _, e := range w.entries(c.Conversation.ID) {
		if e.Meta.Final != (e.Content == "now it is") {
			t.Errorf("%s %q is final: %v", e.Type, e.Content, e.Meta.Final)
		}
	}
	last := w.model.asked[1].Messages
	told := last[len(last)-1]
	if told.Role != llm.User || !strings.HasPrefix(told.Text, "(the check of your task was run: make test\nIt has failed") || !strings.Contains(told.Text, "\n  2 tests\n  fail\n") {
		t.Errorf("the model was told %q", told.Text)
	}
	for _, m := range last {
		if len(m.Calls) > 0 {
			t.Errorf("the model was shown a call that it has not made: %+v", m)
		}
	}
}

func TestCheckFailsTooOften(t *testing.T) {
	for name, tt := range map[string]struct {
		work *checkedWork
		want string
		ran  int
	}{
		"rounds":          {&checkedWork{WorkCheck: turn.WorkCheck{Command: "false", Rounds: 2}}, "its check fails, after it came back 2 times (max_rounds): false", 3},
		"no rounds":       {&checkedWork{WorkCheck: turn.WorkCheck{Command: "false"}}, "its check fails, after it came back 0 times (max_rounds): false", 1},
		"changes files":   {&checkedWork{WorkCheck: turn.WorkCheck{Command: "true"}, files: "a"}, "its check fails, after it came back 0 times (max_rounds): true", 1},
		"without a shell": {&checkedWork{WorkCheck: turn.WorkCheck{Command: "true"}}, "its check cannot be run: ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ran := new(int)
			if name != "without a shell" {
				w.addBash(func(context.Context, tool.Call) (tool.Result, error) {
					*ran++
					tt.work.files += "b"
					return tool.Result{Text: "out", IsError: tt.work.Command == "false"}, nil
				})
			}
			w.model.answer = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
				return text(fmt.Sprint("try ", n)), nil
			}
			c := w.ask("go")
			res := w.runTask(c, tt.work)
			if res.State != fika.RequestFailed || !strings.HasPrefix(res.Reason, tt.want) || *ran != tt.ran {
				t.Fatalf("%+v after %d checks", res, *ran)
			}
			w.whole(c.Conversation.ID)
		})
	}
}

// TestCheckAfterACrash: a check that was running when its process died is run again and goes
// by the files from before; one that had its result is not.
func TestCheckAfterACrash(t *testing.T) {
	w := newWorld(t)
	work := &checkedWork{WorkCheck: turn.WorkCheck{Command: "make test", Rounds: 1}, files: "before"}
	ran := 0
	var stop func()
	w.addBash(func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		if ran++; ran == 1 {
			work.files = "after"
			stop()
			return tool.Result{}, context.Cause(ctx)
		}
		return tool.Result{Text: "ok"}, nil
	})
	w.model.says(text("it is done"), text("put back"))
	c := w.ask("go")
	ctx, cancel := context.WithCancelCause(w.Context())
	stop = func() { w.takeOver(); cancel(fika.Errorf(fika.Lost, "", "killed")) }
	cfg := w.config()
	cfg.Work = work
	if _, err := turn.New(cfg).Run(ctx, c); err == nil {
		t.Fatal("the process has not died")
	}
	rec, err := w.store.Recover(w.Context(), w.lease)
	w.ok(err)
	if len(rec.Claimed) != 1 {
		t.Fatalf("%+v", rec)
	}
	w.model.answer = func(_ context.Context, n int, r llm.Request) (llm.Response, error) {
		if !strings.Contains(r.Messages[len(r.Messages)-1].Text, "has changed HEAD or tracked files") {
			t.Errorf("the model was told %q", r.Messages[len(r.Messages)-1].Text)
		}
		return text("put back"), nil
	}
	res := w.runTask(rec.Claimed[0], work)
	if res.State != fika.Done || res.Outcome.Answer != "put back" || ran != 3 {
		t.Fatalf("%+v after %d checks", res, ran)
	}
	w.whole(c.Conversation.ID)
}
